import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { BicepFile } from './bicep/readBicep.ts';
import { rolesOf } from './bicep/rolesOf.ts';

type Sources = ReadonlyMap<string, string>;

interface Need {
  /** The call in src/ that needs the role. */
  call: RegExp;
  /** The role that allows it. */
  role: string;
  id: string;
  scope: string;
}

const needs: readonly Need[] = [
  {
    call: /new (BlobService|Container)Client\(/,
    role: 'Storage Blob Data Owner',
    id: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
    scope: 'account',
  },
  {
    // The platform writes and reads the package, as an identity of its own.
    call: /from '@azure\/functions'/,
    role: 'Storage Blob Data Contributor',
    id: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
    scope: 'packages',
  },
  {
    call: /new QueueServiceClient\(|app\.storageQueue\(/,
    role: 'Storage Queue Data Contributor',
    id: '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
    scope: 'account',
  },
  {
    call: /from 'durable-functions'/,
    role: 'Storage Table Data Contributor',
    id: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
    scope: 'account',
  },
  {
    call: /\.createSender\(/,
    role: 'Azure Service Bus Data Sender',
    id: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39',
    scope: 'paymentCommands',
  },
  {
    call: /\.createReceiver\(|app\.serviceBusQueue\(/,
    role: 'Azure Service Bus Data Receiver',
    id: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
    scope: 'paymentCommands',
  },
  {
    call: /app\.serviceBusQueue\(/,
    role: 'Azure Service Bus Data Owner',
    id: '090c5cfd-751d-490a-894a-3ce6f1109419',
    scope: 'paymentCommands',
  },
  {
    call: /\.acceptSession\(/,
    role: 'Azure Service Bus Data Receiver',
    id: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
    scope: 'locks',
  },
  {
    call: /new CosmosClient\(/,
    role: 'payonce metadata reader',
    id: '<metadataReader.id>',
    scope: '<account.id>',
  },
  ...(['invoices', 'workItems', 'runs', 'pace', 'locks'] as const).map((name) => ({
    call: new RegExp(`containers\\.${name}\\b`),
    role: 'Cosmos DB Built-in Data Contributor',
    id: '<account.id>/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002',
    scope: `<account.id>/dbs/${databaseName}/colls/${containers[name].name}`,
  })),
  {
    call: /containers\.audit\b/,
    role: 'payonce audit appender',
    id: '<auditAppender.id>',
    scope: `<account.id>/dbs/${databaseName}/colls/${containers.audit.name}`,
  },
  {
    call: /STRIPE_SECRET_KEY/,
    role: 'Key Vault Secrets User',
    id: '4633458b-17de-408a-b874-0445c86b69e6',
    scope: 'vault',
  },
  {
    call: /new AzureMonitor(Metric|Trace)Exporter\(/,
    role: 'Monitoring Metrics Publisher',
    id: '3913510d-42f4-4e42-8a64-420c390055eb',
    scope: 'applicationInsights',
  },
];

/** Calls that need no role, each with the reason. */
const needNone: Record<string, string> = {
  'new DefaultAzureCredential(': 'only provides the identity',
  'new AnonymousCredential(': 'a copy of what a client has that was given',
  'new StorageSharedKeyCredential(': 'a copy of what a client has that was given',
  'new ServiceBusClient(': 'accesses nothing itself: its senders and receivers do',
  'app.http(': 'receives calls and makes none',
  'app.timer(': 'the host keeps timer locks in blobs, which the blob role covers',
  'app.hook.': 'makes no calls',
  'app.setup(': 'makes no calls',
};

/** Roles that the code needs and infra/ does not assign (`missing`), the reverse (`idle`), and duplicates. */
export function roleDifferences(sources: Sources, files: readonly BicepFile[]) {
  const text = [...sources.values()].join('\n');
  const needed = needs.filter(({ call }) => call.test(text)).map(keyOf);
  const assigned = files.flatMap(rolesOf).map(({ name, id, scope }) => keyOf({ role: name, id, scope }));
  return {
    missing: needed.filter((key) => !assigned.includes(key)),
    idle: assigned.filter((key) => !needed.includes(key)),
    twice: assigned.filter((key, index) => assigned.indexOf(key) !== index),
  };
}

/** Azure calls not listed above. A change that adds one must also declare the role it needs. */
export function callsWithoutNeed(sources: Sources): string[] {
  return azureCallsIn(sources).filter(
    (call) => !(call in needNone) && !needs.some((need) => need.call.test(call)),
  );
}

/** Client constructions, opened senders and receivers, and triggers, such as `new CosmosClient(`. */
export function azureCallsIn(sources: Sources): string[] {
  return [...new Set([...sources.values()].flatMap(callsOf))].sort();
}

function callsOf(text: string): string[] {
  const imports = [
    ...text.matchAll(/import \{([^}]*)\} from '@azure[\w-]*\/[^']+'/g),
    ...text.matchAll(/\{([^}]*)\} = await import\('@azure[\w-]*\/[^']+'\)/g),
  ];
  const classes = imports
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => /^[A-Z]\w+$/.test(name));
  return [
    ...classes
      .filter((name) => new RegExp(`new ${name}\\(|\\b${name}\\.from\\w+\\(`).test(text))
      .map((name) => `new ${name}(`),
    ...(text.match(/\.(create(Sender|Receiver|RuleManager)|acceptSession|acceptNextSession)\(/g) ?? []),
    ...(text.match(/(?<!\.)\bapp\.(hook\.|\w+\()/g) ?? []).filter(() =>
      text.includes(`from '@azure/functions'`),
    ),
  ];
}

/** Azure packages that are imported for more than types. */
export function azurePackagesIn(sources: Sources): string[] {
  const text = [...sources.values()].join('\n');
  const names = text.matchAll(
    /(?:^import (?!type )[^;]*? from |import\()'(@azure[\w-]*\/[\w-]+|durable-functions)/gm,
  );
  return [...new Set([...names].map(([, name = '']) => name))].sort();
}

function keyOf({ role, id, scope }: Omit<Need, 'call'>): string {
  return `${role} (${id}) on ${scope}`;
}
