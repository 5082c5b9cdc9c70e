// A rolling deployment between the newest kept release (payonce-VERSION.zip here, from `npm run release:keep`) and the
// sources, in both directions, and next to a release that raises `formatVersion`. Every release runs with the
// repository's node_modules.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { addUp, isSettled } from '../../local/start/figures.ts';
import type { HostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';
import { type CloudView, viewOf } from './cloudView.ts';
import { executionsOf, failuresOf, getFrom, importInvoices, postTo, run, startHost } from './hosts.ts';
import { buildReleases, formatVersionOf, knowsSeveral, type Releases, without } from './releases.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-rolling-'));
let releases: Releases;
let cloud: LocalCloud;
let view: CloudView;
let hosts = new AsyncDisposableStack();

beforeAll(async () => {
  releases = buildReleases(folder);
  cloud = await startLocalCloud();
  view = viewOf(cloud);
}, 90_000);
afterEach(async () => {
  await hosts.disposeAsync();
  hosts = new AsyncDisposableStack();
});
afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]();
  await removeFolder(folder);
}, 30_000);

const start = async (app: string, name: string) => hosts.use(await startHost(cloud, app, name));

test(
  'upgrade: the sources finish what the kept release leaves behind when it is killed',
  {
    timeout: 60_000,
  },
  () => takeOver(releases.kept, releases.current, 'up'),
);

test('downgrade: the kept release finishes what the sources leave behind when they are killed', {
  timeout: 60_000,
}, async ({ skip }) => {
  const raised = formatVersionOf(releases.current) > formatVersionOf(releases.kept);
  skip(raised, 'the sources raise formatVersion: going back leaves newer messages waiting, as below');
  await takeOver(releases.current, releases.kept, 'down');
});

/** A host of one release is killed in the middle of paying; a host of another one has joined before, and finishes. */
async function takeOver(leavingApp: string, joiningApp: string, name: string): Promise<void> {
  const leaving = await start(leavingApp, `${name}-leaving`);
  const ids = await importInvoices(leaving, name, 40);
  // A quarter is charged without an answer; another quarter gets no answer either, and is not charged.
  const silent = ids.flatMap((invoiceId, index) => {
    const kind = [undefined, undefined, 'timeout-after', 'timeout-before'][index % 4];
    return kind === undefined ? [] : [{ kind, filter: { invoiceId } }];
  });
  for (const fault of silent) await postTo(`${cloud.payments}/_local/faults`, fault);
  await run(leaving, 'processInvoices');
  await until(view.faultHits, (hits) => hits === silent.length);
  await until(
    () => view.statusesOf(name),
    ({ paid }) => paid === ids.length - silent.length,
  );
  const later = await importInvoices(leaving, `${name}-later`, 10);

  const joining = await start(joiningApp, `${name}-joining`);
  leaving.kill('SIGKILL');
  await leaving.exited;
  await fetch(`${cloud.payments}/_local/faults`, { method: 'DELETE' });
  expect(await view.statusesOf(name)).toEqual({ paid: 20, claimed: 20, pending: 10 });
  // The messages that it held come back now, not after a minute.
  await postTo(`${cloud.serviceBusLocal}/_local/faults`, { kind: 'expire-locks' });
  await until(
    async () => {
      await run(joining, 'processInvoices');
      return view.statusesOf(name);
    },
    ({ paid }) => paid === ids.length + later.length,
  );

  expect(await view.paidBy(name)).toEqual({ [`${name}-leaving`]: 20, [`${name}-joining`]: 30 });
  await expectAllToAddUp(joining);
  expect(failuresOf(joining)).toEqual([]);
}

test('side by side: both releases claim and pay each other’s invoices until the kept one is gone', {
  timeout: 180_000,
}, async () => {
  const [kept, current] = await Promise.all([
    start(releases.kept, 'side-kept'),
    start(releases.current, 'side-current'),
  ]);
  // A third gets no answer: half of these are charged. The next claim sends the same key, in the form it had.
  const claimedBy = async (host: HostProcess, prefix: string) => {
    const ids = await importInvoices(host, prefix, 30);
    for (const [index, invoiceId] of ids.entries()) {
      const kind = ['reset-after', 'reset-before', undefined, undefined, undefined, undefined][index % 6];
      if (kind === undefined) continue;
      await postTo(`${cloud.payments}/_local/faults`, { kind, filter: { invoiceId } });
    }
    await run(host, 'processInvoices');
    return ids;
  };
  const ids = [...(await claimedBy(kept, 'side-a')), ...(await claimedBy(current, 'side-b'))];
  // Both take batches from the queue. The kept one puts off those of the other. So many calls without an answer may open a
  // circuit breaker, and what it holds back is due again after seconds.
  await until(
    async () => {
      await run(current, 'processInvoices');
      return view.statusesOf('side');
    },
    ({ paid = 0 }) => paid >= ids.length / 4,
  );
  kept.kill('SIGINT');
  await kept.exited;
  await until(
    async () => {
      await run(current, 'processInvoices');
      return view.statusesOf('side');
    },
    ({ paid }) => paid === ids.length,
    { withinMs: 120_000 },
  );
  await expectAllToAddUp(current);
  expect([...failuresOf(kept), ...failuresOf(current)]).toEqual([]);
});

test('several work items in one message: a release that knows single ones only leaves them to the sources', {
  timeout: 120_000,
}, async ({ skip }) => {
  skip(knowsSeveral(releases.kept), 'the kept release knows them, too: taking over is tested above');
  // Pays, but leaves the receipts in the queue.
  const first = await start(without(releases.current, ['processWorkItem']), 'several-first');
  const paid = await importInvoices(first, 'several', 20);
  await run(first, 'processInvoices');
  const { messages } = await until(view.visibleWorkItems, ({ items }) => items === paid.length);
  expect(messages).toBeLessThan(paid.length);
  first.kill('SIGKILL');

  const kept = await start(releases.kept, 'several-kept');
  await until(
    async () => executionsOf(kept, 'processWorkItem'),
    (executions) => executions >= messages,
  );
  expect(failuresOf(kept)).toEqual([]);
  expect(await view.receiptsOf('several')).toEqual([]);
  expect(await view.queuedWorkItems()).toBe(messages);
  expect(await getFrom(kept, 'dead-letters')).toEqual({ deadLetters: [] });

  const second = await start(releases.current, 'several-second');
  kept.kill('SIGKILL');
  await expectAllToAddUp(second);
  expect(failuresOf(second)).toEqual([]);
});

test('a release that raises formatVersion: the kept one leaves its invoices and messages alone', {
  timeout: 120_000,
}, async () => {
  // Pays, but leaves the receipts in the queue, for the kept release to find.
  const first = await start(without(releases.next, ['processWorkItem']), 'next-first');
  const early = await importInvoices(first, 'early', 6);
  await run(first, 'processInvoices');
  const { messages } = await until(view.visibleWorkItems, ({ items }) => items === early.length);
  first.kill('SIGKILL');

  // Claims, but leaves its batches in the queue.
  const [second, kept] = await Promise.all([
    start(without(releases.next, ['executePayments', 'processWorkItem']), 'next-second'),
    start(releases.kept, 'kept'),
  ]);

  // The kept release puts the receipts off, and claims and pays its own invoices only.
  await until(
    async () => executionsOf(kept, 'processWorkItem'),
    (executions) => executions >= messages,
  );
  expect(failuresOf(kept)).toEqual([]);
  expect(await view.visibleWorkItems()).toEqual({ messages: 0, items: 0 });
  const newer = await importInvoices(second, 'newer', 24);
  const older = await importInvoices(kept, 'older', 8);
  await until(
    async () => {
      await run(kept, 'processInvoices');
      return view.statusesOf('older');
    },
    ({ paid }) => paid === older.length,
  );
  expect(await view.statusesOf('newer')).toEqual({ pending: newer.length });
  const written = formatVersionOf(releases.next);
  expect(await view.versionsOf('newer')).toEqual([written]);

  // It puts the batches off. They are scheduled for half a minute later: none is locked, abandoned or dead-lettered.
  const before = await view.commandStats();
  await until(
    async () => {
      await run(second, 'processInvoices');
      return view.statusesOf('newer');
    },
    ({ claimed }) => claimed === newer.length,
  );
  const batches = (await view.batchesOf('newer')).length;
  expect(batches).toBeGreaterThan(1);
  const waiting = { active: 0, locked: 0, scheduled: batches, deadLettered: 0, abandoned: before.abandoned };
  await until(view.commandStats, ({ scheduled, locked }) => scheduled === batches && locked === 0);
  expect(await view.commandStats()).toMatchObject(waiting);
  expect(kept.lines.filter((line) => line.includes('{"putOff":"a payment batch was'))).toHaveLength(batches);

  // Back to the kept release alone: what is newer waits, also a message that a sender left in the outbox.
  second.kill('SIGKILL');
  const left = await view.undoDispatch('early');
  await run(kept, 'sweepOutbox');
  await run(kept, 'processInvoices');
  expect(await view.outboxMessage(left)).toMatchObject({
    status: 'pending',
    attempts: 0,
    version: written,
  });
  expect(await view.statusesOf('newer')).toEqual({ claimed: newer.length });
  expect(await view.commandStats()).toMatchObject(waiting);
  expect(await view.receiptsOf('early')).toEqual([]);
  const [id = ''] = newer;
  const refused = await fetch(`${kept.address}/api/ops/invoices/${id}`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  const understood = formatVersionOf(releases.kept);
  expect(await refused.json()).toMatchObject({
    detail: `invoice "${id}" was written by a newer release: expected version ${understood} or older`,
  });
  expect(await getFrom(kept, 'invoices?status=claimed')).toMatchObject({ invoices: [] });
  expect(await getFrom(kept, 'dead-letters')).toEqual({ deadLetters: [] });
  expect(failuresOf(kept)).toEqual([]);
  expect(kept.lines.filter((line) => line.includes('cannot be read and is passed over'))).toEqual([]);

  // Forward again: the next release takes what was put off.
  const third = await start(releases.next, 'next-third');
  kept.kill('SIGKILL');
  await until(
    () => view.statusesOf('newer'),
    ({ paid }) => paid === newer.length,
  );
  expect(await view.paidBy('newer')).toEqual({ 'next-third': newer.length });
  await expectAllToAddUp(third);
  expect(failuresOf(third)).toEqual([]);
});

/** Every invoice of every test is paid and charged once, has one receipt, and no message is left or given up. */
async function expectAllToAddUp(host: HostProcess): Promise<void> {
  const receiptsDue = async () => {
    await view.makeOutboxDue();
    await run(host, 'sweepOutbox');
    const { invoices, undispatched } = await view.figures();
    const names = (await view.receiptsOf('')).map((name) => name.split('/')[0] ?? '').toSorted();
    return { undispatched, names, paid: invoices.map(({ id }) => id).toSorted() };
  };
  const { names, paid } = await until(
    receiptsDue,
    (now) => now.undispatched === 0 && new Set(now.names).size === now.paid.length,
  );
  expect(names).toEqual(paid);
  await until(view.queuedWorkItems, (queued) => queued === 0);
  const now = await view.figures();
  expect(isSettled(now, Date.now())).toBe(true);
  const { byStatus, problems, chargedTwice } = addUp(now);
  expect({ byStatus, problems, chargedTwice }).toEqual({
    byStatus: {
      pending: 0,
      claimed: 0,
      processing: 0,
      paid: paid.length,
      declined: 0,
      parked: 0,
      voided: 0,
    },
    problems: [],
    chargedTwice: 0,
  });
  expect(now.charges).toHaveLength(paid.length);
  expect(await view.commandStats()).toMatchObject({
    active: 0,
    locked: 0,
    scheduled: 0,
    deadLettered: 0,
  });
  expect(await getFrom(host, 'dead-letters')).toMatchObject({ deadLetters: [] });
}
