import { expect, test } from 'vitest';
import { Idle } from '../../packages/jobs/src/runs/job.ts';
import { unlimitedRoom } from '../../src/claiming/dryRun.ts';
import { type ClaimRoom, planDue } from '../../src/claiming/processInvoices.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { virtualClock } from '../support/virtualClock.ts';

const shards = ['00', '01', '02', '03'];

/** Due invoices by shard, in the order in which they wait; a claim takes them out. */
function world(invoices: readonly Invoice[]) {
  const clock = virtualClock();
  const left = new Set(invoices);
  const failing = new Set<string>();
  const queries: string[] = [];
  const store = {
    async *due({ shard, pageSize }: { shard: string; pageSize: number }) {
      if (failing.has(shard)) throw new Error('the store is away');
      queries.push(shard);
      const due = [...left]
        .filter((one) => one.shard === shard)
        .toSorted((a, b) => ((a.actionableAt ?? '') < (b.actionableAt ?? '') ? -1 : 1));
      for (let from = 0; from < due.length; from += pageSize) yield due.slice(from, from + pageSize);
    },
  };
  const plan = (room: ClaimRoom) => planDue({ invoices: store, clock, room }, { shards, pageSize: 40 });
  /** Claims what is due, and returns it in order; `room` says how much may be claimed. */
  async function claimAll(
    options: { room?: ClaimRoom; most?: number; size?: number; onPause?: () => Promise<void> } = {},
  ) {
    const { room = unlimitedRoom(options.size ?? 10), most = Number.POSITIVE_INFINITY } = options;
    const claimed: Invoice[] = [];
    const errors: string[] = [];
    let pauses = 0;
    for await (const piece of plan(room)) {
      if (piece instanceof Idle) {
        pauses++;
        await clock.advance(piece.ms);
        await options.onPause?.();
      } else if (piece.kind === 'unreadable') errors.push(piece.error);
      else {
        claimed.push(...piece.invoices);
        for (const invoice of piece.invoices) left.delete(invoice);
      }
      if (claimed.length >= most) break;
    }
    return { claimed, pauses, errors };
  }
  return { clock, left, failing, queries, plan, claimAll };
}

function due(count: number, make: (n: number) => Partial<Invoice>): Invoice[] {
  return Array.from({ length: count }, (_, n) => {
    const changes = make(n);
    return anInvoice({
      id: `inv-${changes.customerId ?? 'c'}-${n}`,
      shard: shards[n % shards.length] ?? '',
      actionableAt: at(n),
      ...changes,
    });
  });
}

const at = (seconds: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1000).toISOString();

/** Room for `perSecond` a second, once `start` is used up. */
function roomFor(perSecond: number, start = 0) {
  let left = start;
  const onPause = async () => {
    left += perSecond;
  };
  const room: ClaimRoom = {
    batch: async () => (left >= 10 ? 10 : 0),
    taken(count) {
      left -= count;
    },
  };
  return { room, onPause };
}

test('everything that is due is claimed once, longest waiting first over all shards', async () => {
  const invoices = due(200, () => ({}));
  const { claimAll } = world(invoices);
  const { claimed, pauses } = await claimAll();
  expect(claimed.map(({ id }) => id).toSorted()).toEqual(invoices.map(({ id }) => id).toSorted());
  expect(pauses).toBe(0);
  const waits = claimed.map(({ actionableAt = '' }) => Date.parse(actionableAt) / 1000);
  // A batch is of one shard, so it may be ahead of the other shards by its own length.
  for (const [index, time] of waits.entries())
    expect(time - Math.min(...waits.slice(index))).toBeLessThanOrEqual(40);
});

test('without room it waits, and goes on when there is some, until nothing is due', async () => {
  const { claimAll } = world(due(100, () => ({})));
  const { claimed, pauses } = await claimAll(roomFor(10));
  expect(claimed).toHaveLength(100);
  expect(pauses).toBeGreaterThanOrEqual(10);
});

test('nothing due: nothing is waited for, whether there is room or not', async () => {
  const { claimAll } = world([]);
  expect(await claimAll(roomFor(0))).toEqual({ claimed: [], pauses: 0, errors: [] });
});

test('what becomes due meanwhile is claimed in the same run', async () => {
  const { claimAll, left } = world(due(50, () => ({})));
  const { room, onPause } = roomFor(10);
  let added = false;
  const { claimed } = await claimAll({
    room,
    async onPause() {
      await onPause();
      if (!added) left.add(anInvoice({ id: 'late', shard: '02', actionableAt: at(-60) }));
      added = true;
    },
  });
  expect(claimed).toHaveLength(51);
});

test('a shard that cannot be read is named once, and the others go on', async () => {
  const { claimAll, failing } = world(due(80, () => ({})));
  failing.add('00');
  const { claimed, errors } = await claimAll(roomFor(10));
  expect(errors).toEqual(['shard 00: the store is away']);
  expect(claimed).toHaveLength(60);
});

test('a shard that failed is tried again in the same run, if that lasts', async () => {
  const { claimAll, failing, clock } = world(due(800, () => ({})));
  failing.add('00');
  const { room, onPause } = roomFor(10);
  const began = clock.monotonic();
  const { claimed, errors } = await claimAll({
    room,
    async onPause() {
      if (clock.monotonic() - began > 20_000) failing.clear();
      await onPause();
    },
  });
  expect(errors).toEqual(['shard 00: the store is away']);
  expect(claimed).toHaveLength(800);
});

test('a shard that takes no claims does not hold up the others, however long its invoices have waited', async () => {
  const oldest = due(200, () => ({ shard: '00' }));
  const others = due(40, (n) => ({ customerId: 'other', shard: '01', actionableAt: at(1_000 + n) }));
  const { plan } = world([...oldest, ...others]);
  const claimed: string[] = [];
  for await (const piece of plan(unlimitedRoom(10))) {
    if (piece instanceof Idle || piece.kind !== 'claim') continue;
    claimed.push(piece.shard);
    if (piece.shard === '00') piece.leaveOut();
  }
  expect(claimed).toEqual(['00', '01', '01', '01', '01']);
});

test('each shard is read once, and once more if there was time for more to become due', async () => {
  const { claimAll, queries } = world(due(120, () => ({})));
  await claimAll(roomFor(60));
  expect(queries.length).toBe(2 * shards.length);
});
