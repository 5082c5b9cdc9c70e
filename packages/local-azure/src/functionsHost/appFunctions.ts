import { z } from 'zod';
import type { Binding, FunctionMetadata } from './coreTypes.ts';
import { HostStartError, Unsupported } from './hostStartError.ts';
import { type CosmosInput, readInput } from './inputs/inputBinding.ts';
import { type OutputBinding, readOutput } from './outputs/outputBinding.ts';
import { parseBinding } from './parseBinding.ts';
import { type RetryPolicy, readRetryPolicy } from './retryPolicy.ts';
import { connectionString, resolveNames, type Settings } from './settings.ts';

const dataType = z.enum(['string', 'binary']).catch('string').default('string');

const httpTrigger = z.object({
  authLevel: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['anonymous', 'function', 'admin'])),
  methods: z.array(z.string().toUpperCase()),
  route: z.string().optional(),
});
const timerTrigger = z.object({
  schedule: z.string(),
  runOnStartup: z.boolean().default(false),
  useMonitor: z.boolean().optional(),
});
const queueTrigger = z.object({
  queueName: z.string(),
  connection: z.string().default('AzureWebJobsStorage'),
  dataType,
});
const blobTrigger = z.object({
  path: z.string().regex(/^[^/]+\//, 'expected container/name'),
  connection: z.string().default('AzureWebJobsStorage'),
  dataType: z.enum(['string', 'binary']).catch('binary').default('binary'),
});
const serviceBusTrigger = z.object({
  queueName: z.string().optional(),
  topicName: z.string().optional(),
  subscriptionName: z.string().optional(),
  connection: z.string(),
  autoCompleteMessages: z.boolean().optional(),
  isSessionsEnabled: z.boolean().default(false),
  cardinality: z.enum(['one', 'many']).default('one'),
  dataType,
});

const cosmosTrigger = z.object({
  connection: z.string(),
  databaseName: z.string(),
  containerName: z.string(),
  leaseConnection: z.string().optional(),
  leaseDatabaseName: z.string().optional(),
  leaseContainerName: z.string().default('leases'),
  leaseContainerPrefix: z.string().default(''),
  createLeaseContainerIfNotExists: z.boolean().default(false),
  startFromBeginning: z.boolean().default(false),
  startFromTime: z.coerce.date().optional(),
  maxItemsPerInvocation: z.int().min(1).default(100),
  // In milliseconds.
  feedPollDelay: z.int().min(0).default(5_000),
  leaseAcquireInterval: z.int().min(1).default(13_000),
  leaseRenewInterval: z.int().min(1).default(17_000),
  leaseExpirationInterval: z.int().min(1).default(60_000),
});

/** `connection` of a trigger is the connection string, not the name of its setting. */
export type HttpTrigger = z.output<typeof httpTrigger> & { type: 'http' };
export type TimerTrigger = z.output<typeof timerTrigger> & { type: 'timer' };
export type QueueTrigger = z.output<typeof queueTrigger> & { type: 'queue' };
export type BlobTrigger = Omit<z.output<typeof blobTrigger>, 'path'> & {
  type: 'blob';
  containerName: string;
  /** Of the names of its blobs, with `{name}` for what the metadata gives to the function. */
  pattern: string;
};
export type ServiceBusTrigger = Omit<z.output<typeof serviceBusTrigger>, 'topicName' | 'subscriptionName'> & {
  type: 'serviceBus';
  /** Of a subscription: `topic/Subscriptions/name`. */
  queueName: string;
};
export type CosmosTrigger = z.output<typeof cosmosTrigger> & { type: 'cosmos' };
export type DurableTrigger = { type: 'durable'; kind: 'orchestration' | 'activity' };
export type Trigger =
  | HttpTrigger
  | TimerTrigger
  | QueueTrigger
  | BlobTrigger
  | ServiceBusTrigger
  | CosmosTrigger
  | DurableTrigger;

/** A registered function whose bindings this host can serve. */
export interface AppFunction<T extends Trigger = Trigger> {
  name: string;
  trigger: T;
  /** The name under which the programming model expects the trigger's data. */
  triggerName: string;
  /** Names of the inputs that carry the Durable Functions client. */
  durableClients: string[];
  /** Documents that it gets besides its trigger. */
  inputs: CosmosInput[];
  /** Where its return value and extra outputs go, apart from an HTTP answer. */
  outputs: OutputBinding[];
  /** Absent: a function that throws is not run again by the host itself. */
  retry?: RetryPolicy | undefined;
}

/**
 * Reads the bindings of every registered function.
 *
 * @param leaveOut takes each function that this host cannot serve, and why. Absent: such a function is an error
 * @throws HostStartError naming each function with an unusable binding, and the binding
 */
export function readFunctions(
  registered: Iterable<FunctionMetadata>,
  settings: Settings,
  leaveOut?: (name: string, reason: string) => void,
): AppFunction[] {
  const problems: string[] = [];
  const functions: AppFunction[] = [];
  for (const one of registered) {
    try {
      functions.push(readFunction(one, settings));
    } catch (error) {
      if (!(error instanceof HostStartError)) throw error;
      if (error instanceof Unsupported && leaveOut !== undefined) leaveOut(one.name, error.message);
      else problems.push(`function ${one.name}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new HostStartError(problems.join('\n'));
  return functions;
}

function readFunction(metadata: FunctionMetadata, settings: Settings): AppFunction {
  const bindings = Object.entries(metadata.bindings);
  const trigger = bindings.find(([, { type }]) => /trigger$/i.test(type));
  if (trigger === undefined) throw new HostStartError('it has no trigger');
  const read = readTrigger(trigger[1], settings);
  const durableClients: string[] = [];
  const inputs: CosmosInput[] = [];
  const outputs: OutputBinding[] = [];
  for (const [name, binding] of bindings) {
    const { type, direction } = binding;
    if (name === trigger[0]) continue;
    const output = direction === 'out' ? readOutput(name, binding, settings) : undefined;
    if (output !== undefined) {
      outputs.push(output);
      continue;
    }
    const input = direction === 'in' ? readInput(name, binding, settings) : undefined;
    if (input !== undefined) inputs.push(input);
    else if (type.toLowerCase() === 'durableclient' && direction === 'in') durableClients.push(name);
    else if (!(type === 'http' && name === '$return' && read.type === 'http')) {
      throw new Unsupported(
        `the ${direction === 'in' ? 'input' : 'output'} binding type ${type} is not supported`,
      );
    }
  }
  const { name, retryOptions } = metadata;
  const retry = retryOptions === undefined ? undefined : retryPolicyOf(read, retryOptions);
  return { name, trigger: read, triggerName: trigger[0], durableClients, inputs, outputs, retry };
}

/** The real host has retry policies for these triggers only: the others have messages that are delivered again, or a caller. */
function retryPolicyOf({ type }: Trigger, options: unknown): RetryPolicy {
  if (type !== 'timer' && type !== 'cosmos')
    throw new Unsupported('it has a retry policy, which only timers and Cosmos DB triggers can have');
  return readRetryPolicy(options);
}

function readTrigger(binding: Binding, settings: Settings): Trigger {
  if (binding.sdkBinding === true) throw new Unsupported(`${binding.type}: sdkBinding is not supported`);
  const resolve = (text: string) => resolveNames(text, settings);
  switch (binding.type.toLowerCase()) {
    case 'httptrigger':
      return { type: 'http', ...parseBinding(httpTrigger, binding) };
    case 'timertrigger': {
      const options = parseBinding(timerTrigger, binding);
      return { type: 'timer', ...options, schedule: resolve(options.schedule) };
    }
    case 'queuetrigger': {
      const options = parseBinding(queueTrigger, binding);
      const connection = connectionString(options.connection, settings);
      return { type: 'queue', ...options, connection, queueName: resolve(options.queueName).toLowerCase() };
    }
    case 'blobtrigger': {
      if (binding.source !== undefined && binding.source !== 'LogsAndContainerScan')
        throw new Unsupported(
          `${binding.type}: the source ${JSON.stringify(binding.source)} is not supported`,
        );
      const { path, connection, ...options } = parseBinding(blobTrigger, binding);
      const [containerName = '', ...rest] = resolve(path).split('/');
      return {
        type: 'blob',
        ...options,
        connection: connectionString(connection, settings),
        containerName,
        pattern: rest.join('/'),
      };
    }
    case 'servicebustrigger': {
      const { queueName, topicName, subscriptionName, ...options } = parseBinding(serviceBusTrigger, binding);
      const source =
        topicName === undefined ? queueName : `${topicName}/Subscriptions/${subscriptionName ?? ''}`;
      if (source === undefined || source.endsWith('/'))
        throw new HostStartError(`${binding.type}: expected queueName, or topicName and subscriptionName`);
      const connection = connectionString(options.connection, settings);
      return { type: 'serviceBus', ...options, connection, queueName: resolve(source) };
    }
    case 'cosmosdbtrigger': {
      if (binding.changeFeedMode !== undefined && binding.changeFeedMode !== 'LatestVersion')
        throw new Unsupported(`${binding.type}: changeFeedMode other than LatestVersion is not supported`);
      const options = parseBinding(cosmosTrigger, binding);
      const { leaseConnection, leaseDatabaseName } = options;
      return {
        type: 'cosmos',
        ...options,
        connection: connectionString(options.connection, settings),
        databaseName: resolve(options.databaseName),
        containerName: resolve(options.containerName),
        leaseContainerName: resolve(options.leaseContainerName),
        ...(leaseConnection && { leaseConnection: connectionString(leaseConnection, settings) }),
        ...(leaseDatabaseName && { leaseDatabaseName: resolve(leaseDatabaseName) }),
      };
    }
    case 'orchestrationtrigger':
      return { type: 'durable', kind: 'orchestration' };
    case 'activitytrigger':
      return { type: 'durable', kind: 'activity' };
    case 'entitytrigger':
      throw new Unsupported('entities are not supported');
    default:
      throw new Unsupported(`the trigger type ${binding.type} is not supported`);
  }
}
