// A release meets what a newer one writes, which has raised `formatVersion`.
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { executionsOf, failuresOf, getFrom, importInvoices, run } from './hosts.ts';
import { formatVersionOf, without } from './releases.ts';
import { rollingWorld } from './rollingWorld.ts';

const world = rollingWorld();

test('a release that raises formatVersion: the older one leaves its invoices and messages alone', async () => {
  const { releases, view, start, expectAllToAddUp } = world();
  // Pays, but leaves the receipts in the queue, for the older release to find.
  const first = await start(without(releases.next, ['processWorkItem']), 'next-first');
  const early = await importInvoices(first, 'early', 6);
  await run(first, 'processInvoices');
  const { messages } = await until(view.visibleWorkItems, ({ items }) => items === early.length);
  first.kill('SIGKILL');

  // Claims, but leaves its batches in the queue.
  const [second, old] = await Promise.all([
    start(without(releases.next, ['executePayments', 'processWorkItem']), 'next-second'),
    start(releases.older, 'older'),
  ]);

  // The older release puts the receipts off, and claims and pays its own invoices only.
  await until(
    async () => executionsOf(old, 'processWorkItem'),
    (executions) => executions >= messages,
  );
  expect(failuresOf(old)).toEqual([]);
  expect(await view.visibleWorkItems()).toEqual({ messages: 0, items: 0 });
  const newer = await importInvoices(second, 'newer', 24);
  const theirs = await importInvoices(old, 'theirs', 8);
  await until(
    async () => {
      await run(old, 'processInvoices');
      return view.statusesOf('theirs');
    },
    ({ paid }) => paid === theirs.length,
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
  expect(old.lines.filter((line) => line.includes('{"resent":"a payment batch was'))).toHaveLength(batches);

  // Back to the older release alone: what is newer waits, also a message that a sender left in the outbox.
  second.kill('SIGKILL');
  const left = await view.undoDispatch('early');
  await run(old, 'sweepOutbox');
  await run(old, 'processInvoices');
  expect(await view.outboxMessage(left)).toMatchObject({
    status: 'pending',
    attempts: 0,
    version: written,
  });
  expect(await view.statusesOf('newer')).toEqual({ claimed: newer.length });
  expect(await view.commandStats()).toMatchObject(waiting);
  expect(await view.receiptsOf('early')).toEqual([]);
  const [id = ''] = newer;
  const refused = await fetch(`${old.address}/api/ops/invoices/${id}`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  const understood = formatVersionOf(releases.older);
  expect(await refused.json()).toMatchObject({
    detail: `invoice "${id}" was written by a newer release: expected version ${understood} or older`,
  });
  expect(await getFrom(old, 'invoices?status=claimed')).toMatchObject({ invoices: [] });
  expect(await getFrom(old, 'dead-letters')).toMatchObject({ deadLetters: [] });
  expect(failuresOf(old)).toEqual([]);
  expect(old.lines.filter((line) => line.includes('cannot be read and is passed over'))).toEqual([]);

  // Forward again: the next release takes what was sent again.
  const third = await start(releases.next, 'next-third');
  old.kill('SIGKILL');
  await until(
    () => view.statusesOf('newer'),
    ({ paid }) => paid === newer.length,
  );
  expect(await view.paidBy('newer')).toEqual({ 'next-third': newer.length });
  await expectAllToAddUp(third);
  expect(failuresOf(third)).toEqual([]);
}, 120_000);
