import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/*
 * Writes docs/conformance.md from the tests: each feature names the test that shows it. A test that is renamed or removed takes its
 * line along. After a change: npx vitest run packages/local-azure/test/conformance.test.ts --update
 */

type State = 'yes' | 'differs' | 'refused';
/** Feature, state here, what the official emulator does, file and title of the test. */
type Row = readonly [feature: string, state: State, official: string, file: string, title: string];

const cosmos: readonly Row[] = [
  [
    'items: create, read, replace, upsert, delete',
    'yes',
    'yes',
    'cosmos/items',
    'a created item reads back with the service’s system properties',
  ],
  [
    'ETags: If-Match, If-None-Match',
    'yes',
    'yes',
    'cosmos/conditions',
    'a replacement on an ETag works once',
  ],
  ['patch, with conditions', 'yes', '', 'cosmos/patch', 'a condition decides whether the patch is applied'],
  ['batches: all or nothing', 'yes', 'yes', 'cosmos/batch', '%s rolls back the whole batch'],
  [
    'ETags within a batch',
    'yes',
    'since [#319](https://github.com/Azure/azure-cosmos-db-emulator-docker/issues/319)',
    'cosmos/batch',
    'each operation can have its own ETag condition',
  ],
  [
    'limits of batches and items (100 operations, 2 MB)',
    'yes',
    'no ([#292](https://github.com/Azure/azure-cosmos-db-emulator-docker/issues/292))',
    'cosmos/batch',
    'a batch over 2 MB is refused and writes nothing',
  ],
  ['bulk', 'yes', '', 'cosmos/bulk', 'bulk operations on several partitions succeed or fail independently'],
  [
    'time to live',
    'yes',
    '',
    'cosmos/ttl',
    'an item expires by its own ttl and vanishes at once from reads, queries and the change feed',
  ],
  [
    'unique keys',
    'yes',
    '',
    'cosmos/metadata',
    'a unique key holds within a partition; a missing value counts as null, and types differ',
  ],
  [
    'indexing policy: checked, and needed for ORDER BY',
    'yes',
    '',
    'cosmos/indexingPolicy',
    'a policy that is replaced counts at once',
  ],
  [
    'queries within a partition',
    'yes',
    'yes',
    'cosmos/query/oracle.property',
    'the engine agrees with a plain evaluation',
  ],
  [
    'queries over several ranges, merged by the SDK',
    'yes',
    'no ([#313](https://github.com/Azure/azure-cosmos-db-emulator-docker/issues/313))',
    'cosmos/partitions/routing',
    'the gateway refuses what needs merging, and the SDK asks for a plan and for each range',
  ],
  [
    'subqueries in FROM that would have to be merged',
    'refused',
    '',
    'cosmos/partitions/queries',
    'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.kind FROM c)',
  ],
  [
    'change feed, latest versions',
    'yes',
    '',
    'cosmos/feed',
    'from a continuation token: where the previous reader stopped',
  ],
  [
    'change feed, all versions and deletes',
    'refused',
    '',
    'cosmos/feed',
    'the mode for all versions and deletes is refused by name',
  ],
  [
    'hierarchical partition keys (no prefixes)',
    'differs',
    '',
    'cosmos/items',
    'a partition key path may be nested, and a key hierarchical',
  ],
  [
    'ids as the service’s gateway reads them',
    'yes',
    '',
    'cosmos/items',
    'an item with the id %j is created, and reached by queries and batches only',
  ],
  [
    'query metrics: time, items read and returned',
    'differs',
    '',
    'cosmos/charges',
    'query metrics say how many items were read, and how many returned, on each page',
  ],
  ['keys are checked', 'yes', 'no', 'cosmos/auth', 'a custom key replaces the default one'],
  ['Entra tokens: taken unchecked', 'differs', '', 'cosmos/auth', 'an Entra ID token is taken unchecked'],
  [
    'request units: an estimate',
    'differs',
    '',
    'cosmos/charges',
    'a filter that an index serves is charged for what it finds, any other for all items',
  ],
  [
    'stored procedures, triggers, functions, offers, users, conflicts, index metrics',
    'refused',
    'stored procedures: no ([#294](https://github.com/Azure/azure-cosmos-db-emulator-docker/issues/294))',
    'cosmos/metadata',
    'an unsupported resource or option is 501 with its name',
  ],
  ['throttling, connection loss and delays on demand', 'yes', '', 'cosmos/faults', '429'],
  [
    'data survives SIGKILL',
    'yes',
    '',
    'cosmos/restart',
    'definitions, items and change feed positions survive a restart',
  ],
];

const serviceBus: readonly Row[] = [
  [
    'send, batches, properties',
    'yes',
    'yes',
    'serviceBus/send',
    'a batch arrives whole and in order; each message without an id gets one',
  ],
  [
    'peek-lock, receive and delete, peek',
    'yes',
    'yes',
    'serviceBus/receive',
    'peek returns messages in order without locking them',
  ],
  [
    'complete, abandon, defer, dead-letter, lock renewal',
    'yes',
    'yes',
    'serviceBus/settle',
    'dead-lettering keeps reason, description and properties',
  ],
  ['sessions with state', 'yes', 'yes', 'serviceBus/sessions', 'session state persists between receivers'],
  [
    'duplicate detection',
    'yes',
    'yes',
    'serviceBus/send',
    'a repeated id is dropped within the window and accepted after it',
  ],
  [
    'scheduled messages',
    'yes',
    'yes',
    'serviceBus/time',
    'a scheduled message becomes active when due, as if sent then',
  ],
  [
    'limits of messages, properties and dead-letter texts',
    'yes',
    '',
    'serviceBus/strictness',
    'an application property has at most 32 KB, all of a message 64 KB',
  ],
  [
    'topics and subscriptions',
    'yes',
    'yes',
    'serviceBus/topics',
    'each subscription gets what its rules take, with a lock and dead letters of its own',
  ],
  [
    'SQL and correlation filters',
    'yes',
    'yes',
    'serviceBus/filters',
    'SQL filters, with the properties color, quantity, urgent, [a b], path',
  ],
  [
    'actions of rules',
    'yes',
    'yes',
    'serviceBus/topics',
    'an action changes a copy of the message; rules without one share a copy',
  ],
  [
    'forwarding',
    'yes',
    'yes',
    'serviceBus/topics',
    'messages and dead letters are forwarded, from queue to topic to queue',
  ],
  [
    'management: queues, topics, subscriptions, rules (TLS)',
    'yes',
    'yes (HTTP)',
    'serviceBus/administration',
    'topics, subscriptions and rules of both kinds',
  ],
  [
    'entities created when a client names them',
    'yes',
    'no',
    'serviceBus/topics',
    'with create, what a client names is there, with sessions if it asks for one, and stays',
  ],
  [
    'transactions',
    'refused',
    '',
    'serviceBus/amqp/wire',
    'a link without an address, as used for transactions, is refused with a reason',
  ],
  [
    'rules over AMQP (createRuleManager)',
    'yes',
    '',
    'serviceBus/topics',
    'a rule manager adds, lists and removes rules, which stay',
  ],
  [
    'listing sessions, peeking without bodies',
    'refused',
    '',
    'serviceBus/amqp/wire',
    'an unsupported operation gets 501 with its name, a malformed request 400 with the field',
  ],
  [
    'connection loss, refusals, delays, lost locks on demand',
    'yes',
    '',
    'serviceBus/faults',
    'losing the connection before a send stores nothing; losing it after stores the message',
  ],
  [
    'data survives SIGKILL',
    'yes',
    '',
    'serviceBus/durability',
    'acknowledged messages survive SIGKILL; SIGTERM exits with code 0',
  ],
];

const host: readonly Row[] = [
  [
    'HTTP: routes, keys, streams',
    'yes',
    'yes',
    'functionsHost/http',
    'passes bytes, query, headers, cookies and status; the default route ignores case',
  ],
  [
    'timers, one host at a time',
    'yes',
    'yes',
    'functionsHost/triggers',
    'one of two hosts fires a timer; when it stops, it exits with 0 and the other takes over',
  ],
  [
    'storage queue trigger, poison queues',
    'yes',
    'yes',
    'functionsHost/triggers',
    'a message that fails is delivered maxDequeueCount times, then moves to the poison queue',
  ],
  [
    'Service Bus queue trigger',
    'yes',
    'yes',
    'functionsHost/serviceBus',
    'delivers a message with its metadata and completes it when the function returns',
  ],
  [
    'Service Bus topic trigger and output',
    'yes',
    'yes',
    'functionsHost/serviceBus',
    'a topic: its subscription triggers, and a topic takes what is returned',
  ],
  [
    'Service Bus sessions',
    'yes',
    'yes',
    'functionsHost/serviceBus',
    'sessions: each in its order, several side by side, and one that comes again later',
  ],
  [
    'cardinality: many',
    'yes',
    'yes',
    'functionsHost/serviceBus',
    'cardinality many: a batch with arrays of metadata, completed as a whole',
  ],
  [
    'Cosmos DB trigger (leases of a format of their own)',
    'differs',
    'yes',
    'functionsHost/cosmos',
    'two hosts share the feed; when one is killed, the other goes on where it was',
  ],
  [
    'Cosmos DB input and output',
    'yes',
    'yes',
    'functionsHost/outputs',
    'documents are inputs: one by id and key, those of a query, by values of the trigger',
  ],
  [
    'blob trigger (scans, one host at a time)',
    'differs',
    'yes',
    'functionsHost/blob',
    'each version of each blob that the path matches is seen once, across restarts and hosts',
  ],
  [
    'retry policies of timers and Cosmos DB triggers',
    'yes',
    'yes',
    'functionsHost/cosmos',
    'a retry policy has the changes run again',
  ],
  [
    'Durable: orchestrations, activities, timers, events',
    'yes',
    'yes',
    'functionsHost/durable/orchestrations',
    'sub-orchestrations return results, take a given id, and can fail',
  ],
  [
    'Event Grid, Event Hubs, Kafka, SQL and others; blob outputs; identity-based connections',
    'refused',
    'yes',
    'functionsHost/start',
    'names everything unsupported at once',
  ],
  [
    'a function that is not supported can be left out',
    'yes',
    'no',
    'functionsHost/start',
    'with --skip-unsupported it runs without them, but a setting that is missing still stops it',
  ],
  [
    'small apps as func makes them, ten of them',
    'yes',
    'yes',
    'smallApps',
    'a Durable fan-out, in TypeScript',
  ],
  [
    'credentials over TLS',
    'yes',
    '',
    'tls',
    'clients with a credential reach every service, and so does a host by the settings',
  ],
];

/** Counted by hand: the suites are no part of this repository. */
const ownTests = `## The SDKs' own tests

Azure's own integration tests of the two SDKs, as they were in December 2025 (\`@azure/cosmos\` 4.9.0, \`@azure/service-bus\` 7.10.0-beta.3), run with
these services over TLS; where Azure's management plane or a login is needed, with stubs.

| suite | passed | failed | skipped, or not reached because what they need is refused |
| --- | --- | --- | --- |
| Cosmos DB, one range | 384 | 139 | 108 |
| Cosmos DB, with three ranges for the eleven files where that matters | 394 | 129 | 108 |
| Service Bus | 722 | 27 | 21 |

Of the 129 of Cosmos DB, 94 were refused by name. The others: a sorted query continued with \`enableQueryControl\` (10); ids that the
service's compute gateway reads otherwise than the usual one, which is here (7); no empty page expected after a full last one (5, and 17 with one
range, against one test that expects it); the order of a plain query, which three ranges do not keep (4); containers without a partition key (3); several ranges
for a partition key of version 1 (3); partition splits (1); the errors of a vector policy and of queries over databases (2).

Of the 27 of Service Bus, 22 were refused by name: a status other than Active (14), peeking without bodies (6), messages over 256 KB (2). The
others: a namespace whose name ends in servicebus.windows.net (2) and a login (1) are expected, the root of the namespace is no feed (1), an answer came before
it could be aborted (1).
`;

const read = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');

function tableOf(title: string, official: string, rows: readonly Row[]): string {
  const lines = rows.map(
    ([feature, state, theirs, file, name]) =>
      `| ${feature} | ${state} | ${theirs} | ${name.replaceAll('|', '\\|')} (${file}) |`,
  );
  return [
    `## ${title}`,
    '',
    `| feature | here | ${official} | shown by the test |`,
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

test('every feature of the page names a test that there is', () => {
  const missing = [...cosmos, ...serviceBus, ...host].filter(
    ([, , , file, title]) => !read(`${file}.test.ts`).replaceAll("\\'", "'").includes(title),
  );
  expect(missing).toEqual([]);
});

test('the page is the one of these features', async () => {
  const { dependencies, devDependencies } = JSON.parse(read('../../../package.json')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const versions = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([name]) =>
      /^@azure\/(cosmos|service-bus|storage-blob|storage-queue|functions)$|^durable-functions$|^azurite$/.test(
        name,
      ),
    )
    .map(([name, version]) => `\`${name}\` ${version}`);
  const page = `# How near it is

Written by \`test/conformance.test.ts\`; do not edit. Each line is shown by a test of this package with the real client. *yes*: as on the service,
as far as the test goes. *differs*: the page of the service says how. *refused*: an error that names the feature.

Tested with ${versions.toSorted().join(', ')}. No other version, and no client of another language.

The columns of the official emulators (Cosmos DB's vnext image, the Service Bus image, the Functions Core Tools) say what their documents and issues said in
2026. Nobody ran them for this page; an empty cell means that nothing was found.

${tableOf('Cosmos DB', 'official emulator', cosmos)}

${tableOf('Service Bus', 'official emulator', serviceBus)}

${tableOf('Functions host', 'Core Tools', host)}

${ownTests}
`;
  await expect(page).toMatchFileSnapshot('../docs/conformance.md');
});
