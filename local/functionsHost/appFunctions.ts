import { z } from 'zod';
import type { Binding, FunctionMetadata } from './coreTypes.ts';
import { HostStartError } from './hostStartError.ts';
import { type OutputBinding, readOutput } from './outputs/outputBinding.ts';
import { resolveNames, type Settings } from './settings.ts';

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
const serviceBusTrigger = z.object({
  queueName: z.string({ error: 'only queues are supported, not topics' }),
  connection: z.string(),
  autoCompleteMessages: z.boolean().optional(),
  isSessionsEnabled: z.literal(false, { error: 'sessions are not supported' }).default(false),
  cardinality: z.literal('one', { error: 'cardinality "many" is not supported' }).default('one'),
  dataType,
});

export type HttpTrigger = z.output<typeof httpTrigger> & { type: 'http' };
export type TimerTrigger = z.output<typeof timerTrigger> & { type: 'timer' };
export type QueueTrigger = z.output<typeof queueTrigger> & { type: 'queue' };
export type ServiceBusTrigger = z.output<typeof serviceBusTrigger> & { type: 'serviceBus' };
export type DurableTrigger = { type: 'durable'; kind: 'orchestration' | 'activity' | 'entity' };
export type Trigger = HttpTrigger | TimerTrigger | QueueTrigger | ServiceBusTrigger | DurableTrigger;

/** A registered function whose bindings this host can serve. */
export interface AppFunction<T extends Trigger = Trigger> {
  name: string;
  trigger: T;
  /** The name under which the programming model expects the trigger's data. */
  triggerName: string;
  /** Names of the inputs that carry the Durable Functions client. */
  durableClients: string[];
  /** Where its return value and extra outputs go, apart from an HTTP answer. */
  outputs: OutputBinding[];
}

/**
 * Reads the bindings of every registered function.
 * @throws HostStartError naming each function with an unsupported binding, and the binding
 */
export function readFunctions(registered: Iterable<FunctionMetadata>, settings: Settings): AppFunction[] {
  const problems: string[] = [];
  const functions: AppFunction[] = [];
  for (const one of registered) {
    try {
      functions.push(readFunction(one, settings));
    } catch (error) {
      if (!(error instanceof HostStartError)) throw error;
      problems.push(`function ${one.name}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new HostStartError(problems.join('\n'));
  return functions;
}

function readFunction(metadata: FunctionMetadata, settings: Settings): AppFunction {
  if (metadata.retryOptions !== undefined) throw new HostStartError('retry policies are not supported');
  const bindings = Object.entries(metadata.bindings);
  const trigger = bindings.find(([, { type }]) => /trigger$/i.test(type));
  if (trigger === undefined) throw new HostStartError('it has no trigger');
  const read = readTrigger(trigger[1], settings);
  const durableClients: string[] = [];
  const outputs: OutputBinding[] = [];
  for (const [name, binding] of bindings) {
    const { type, direction } = binding;
    if (name === trigger[0]) continue;
    const output = direction === 'out' ? readOutput(name, binding, settings) : undefined;
    if (output !== undefined) {
      outputs.push(output);
      continue;
    }
    if (type.toLowerCase() === 'durableclient' && direction === 'in') durableClients.push(name);
    else if (!(type === 'http' && name === '$return' && read.type === 'http')) {
      throw new HostStartError(
        `the ${direction === 'in' ? 'input' : 'output'} binding type ${type} is not supported`,
      );
    }
  }
  return { name: metadata.name, trigger: read, triggerName: trigger[0], durableClients, outputs };
}

function readTrigger(binding: Binding, settings: Settings): Trigger {
  if (binding.sdkBinding === true) throw new HostStartError(`${binding.type}: sdkBinding is not supported`);
  const resolve = (text: string) => resolveNames(text, settings);
  switch (binding.type.toLowerCase()) {
    case 'httptrigger':
      return { type: 'http', ...parse(httpTrigger, binding) };
    case 'timertrigger': {
      const options = parse(timerTrigger, binding);
      return { type: 'timer', ...options, schedule: resolve(options.schedule) };
    }
    case 'queuetrigger': {
      const options = parse(queueTrigger, binding);
      return { type: 'queue', ...options, queueName: resolve(options.queueName).toLowerCase() };
    }
    case 'servicebustrigger': {
      const options = parse(serviceBusTrigger, binding);
      return { type: 'serviceBus', ...options, queueName: resolve(options.queueName) };
    }
    case 'orchestrationtrigger':
      return { type: 'durable', kind: 'orchestration' };
    case 'activitytrigger':
      return { type: 'durable', kind: 'activity' };
    case 'entitytrigger':
      return { type: 'durable', kind: 'entity' };
    default:
      throw new HostStartError(`the trigger type ${binding.type} is not supported`);
  }
}

function parse<T extends z.ZodType>(schema: T, binding: Binding): z.output<T> {
  const parsed = schema.safeParse(binding);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new HostStartError(`${binding.type}: ${wrong.join('; ')}`);
}
