// The newest kept release meets what a newer one writes: messages of several work items, and a raised `formatVersion`.
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { executionsOf, failuresOf, getFrom, importInvoices, run } from './hosts.ts';
import { formatVersionOf, knowsSeveral, without } from './releases.ts';
import { rollingWorld } from './rollingWorld.ts';

const world = rollingWorld();

test('several work items in one message: a release that knows single ones only leaves them to the sources', {
  timeout: 120_000,
}, async ({ skip }) => {
  const { releases, view, start, expectAllToAddUp } = world();
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
  const { releases, view, start, expectAllToAddUp } = world();
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
