/**
 * Prints how much code there is and how much of it a payment and a refund pass through: what a change that claims to simplify is
 * measured by, with the goal beside each figure that has one. `npm run check -- measure [--json]`. A file is on a way if one of its
 * functions is called there. A process of its own, so that nothing but the app is measured.
 */
import { globSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Items } from '@azure/cosmos';
import { HttpRequest } from '@azure/functions';
import { ServiceBusClient } from '@azure/service-bus';
import { createApp } from '../../src/app.ts';
import { queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';

/** The most that a figure may be. They are what the code is to come to, and may not hold yet. */
const goals = {
  'lines of src': 19_500,
  'lines of src, leases and jobs, without other stores and contracts': 26_500,
  'lines of app.ts': 120,
  'folders of src': 13,
  "files on an invoice's way": 75,
  'lines of those files': 9_000,
  'functions called on it': 396,
  "files on a refund's way": 65,
  'stack frames from claimBatch to the SDK': 8,
  'names exported by two files or more': 0,
  'places that ask for the pause': 3,
};

const root = fileURLToPath(new URL('../../', import.meta.url));
const files = globSync(['src/**/*.ts', 'packages/{leases,lock-stores,jobs}/src/**/*.ts'], { cwd: root }).map(
  (file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return { file: file.replaceAll('\\', '/'), text, lines: text.split('\n').length - 1 };
  },
);

const cloud = await startLocalCloud();
const app = createApp(readSettings(settingsFor(cloud)));
const bus = new ServiceBusClient(cloud.serviceBus);
const receiver = bus.createReceiver(serviceBusQueues.paymentCommands, { receiveMode: 'receiveAndDelete' });
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const frames = { ofClaim: Number.NaN };
const queuedMs = { refund: Number.NaN };
Error.stackTraceLimit = Number.POSITIVE_INFINITY;
const batch = Reflect.get<Items, 'batch'>(Items.prototype, 'batch');
Items.prototype.batch = function measured(...operations) {
  const stack = ownFrames();
  const from = stack.findIndex((frame) => frame.includes('claimBatch'));
  if (from >= 0) frames.ofClaim = from + 1;
  return batch.apply(this, operations);
};

await pay('inv-1');
const invoice = await wayOfCalls();
await refund('inv-1');
const refunded = await wayOfCalls();

const measured = {
  'lines of src': sumOfLines(files.filter(({ file }) => file.startsWith('src/'))),
  'lines of src, leases and jobs, without other stores and contracts': sumOfLines(
    files.filter(({ file }) => !isOfOtherStores(file)),
  ),
  'files of src': files.filter(({ file }) => file.startsWith('src/')).length,
  'files of src/functions': files.filter(({ file }) => file.startsWith('src/functions/')).length,
  'lines of app.ts': sumOfLines(files.filter(({ file }) => file === 'src/app.ts')),
  'folders of src': new Set(files.flatMap(({ file }) => /^src\/([^/]+)\//.exec(file)?.[1] ?? [])).size,
  "files on an invoice's way": invoice.files,
  'lines of those files': invoice.lines,
  'functions called on it': invoice.functions,
  "files on a refund's way": refunded.files,
  'lines of those files (refund)': refunded.lines,
  'functions called on it (refund)': refunded.functions,
  'a refund, from the answer to the queue (ms)': queuedMs.refund,
  'stack frames from claimBatch to the SDK': frames.ofClaim,
  'names exported by two files or more': sharedNames(),
  'places that ask for the pause': placesOf(/\bgate\(\)(?! \{)/g),
};
if (process.argv.includes('--json')) console.log(JSON.stringify(measured, null, 2));
else console.table(besideGoals());
process.exit(0);

/** The figures with the most that each may be. */
function besideGoals(): Record<string, { value: number; goal?: number }> {
  const most: Partial<Record<string, number>> = goals;
  return Object.fromEntries(
    Object.entries(measured).map(([name, value]) => {
      const goal = most[name];
      return [name, goal === undefined ? { value } : { value, goal }];
    }),
  );
}

/** Stores of locks other than blobs, how `LOCKS` chooses them, and the contract suites. */
function isOfOtherStores(file: string): boolean {
  return /^packages\/lock-stores\/|\/src\/testing\/|^src\/(lockStores|settings\/lockAddress)\.ts$/.test(file);
}

/** From the import to the receipt. */
async function pay(id: string): Promise<void> {
  const row = {
    id,
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2026-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };
  await app.ops.importInvoices(request('invoices', [row]));
  await app.processInvoices();
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
  await app.executePayments(message?.body);
  expectDone(await app.processWorkItem(await nextWorkItem()));
}

/** From the request to the refund's end. */
async function refund(id: string): Promise<void> {
  const asked = request(`invoices/${id}/refund`, { reason: 'returned' }, { id });
  const { status } = await app.ops.refundInvoice(asked);
  if (status !== 202) throw new Error(`the refund was answered with ${status}`);
  const stored = performance.now();
  const item = await nextWorkItem();
  queuedMs.refund = Math.round(performance.now() - stored);
  expectDone(await app.processWorkItem(item));
}

function expectDone(outcome: string): void {
  if (outcome !== 'done') throw new Error(`a work item came to ${outcome}`);
}

function request(path: string, body: unknown, params: Record<string, string> = {}): HttpRequest {
  return new HttpRequest({
    url: `http://localhost/api/ops/${path}`,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'measured-1' },
    params,
    body: { string: JSON.stringify(body) },
  });
}

/** Rejects after ten seconds. */
async function nextWorkItem(): Promise<unknown> {
  const queue = cloud.queues.getQueueClient(queues.workItems);
  for (let tries = 0; tries < 1_000; tries++) {
    const [item] = (await queue.receiveMessages()).receivedMessageItems;
    if (item !== undefined) return JSON.parse(Buffer.from(item.messageText, 'base64').toString()) as unknown;
    await delay(10);
  }
  throw new Error('no work item was ordered');
}

/** The code that was called since the last look. */
async function wayOfCalls(): Promise<{ files: number; lines: number; functions: number }> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result
    .filter(({ url }) => isOurs(url))
    .map(({ url, functions }) => ({
      file: url.replace(pathToFileURL(root).href, ''),
      functions: functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0]?.count),
    }))
    .filter(({ functions }) => functions.length > 0);
  const passed = new Set(called.map(({ file }) => file));
  return {
    files: passed.size,
    lines: sumOfLines(files.filter(({ file }) => passed.has(file))),
    functions: called.flatMap(({ functions }) => functions).length,
  };
}

/** The innermost first. */
function ownFrames(): string[] {
  const lines = new Error('measured').stack?.split('\n') ?? [];
  return lines.filter(isOurs);
}

function isOurs(text: string): boolean {
  const [, path = ''] = text.split(pathToFileURL(root).href);
  return /^(?:src|packages\/(?:leases|lock-stores|jobs)\/src)\//.test(path);
}

function sumOfLines(of: typeof files): number {
  return of.reduce((sum, { lines }) => sum + lines, 0);
}

function placesOf(pattern: RegExp): number {
  return files.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);
}

function sharedNames(): number {
  const exported = files.flatMap(({ text }) => [
    ...new Set(
      [
        ...text.matchAll(/^export (?:async )?(?:const|function|class|interface|type|enum) ([A-Za-z0-9_]+)/gm),
      ].map(([, name = '']) => name),
    ),
  ]);
  return new Set(exported.filter((name, at) => exported.indexOf(name) !== at)).size;
}
