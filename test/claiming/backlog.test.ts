import { expect, test } from 'vitest';
import { newSchedule } from '../../packages/jobs/src/rate/schedule.ts';
import { Idle } from '../../packages/jobs/src/runs/job.ts';
import { createClaimRoom, planDue } from '../../src/claiming/processInvoices.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { virtualClock } from '../support/virtualClock.ts';

const second = 1_000;
const perSecond = 100;
const groups = ['0', '1', '2', '3'];
const claimStaleMs = 300 * second;

test('a backlog of a quarter of an hour is claimed once, and never more than is paid in two minutes', async () => {
  const clock = virtualClock();
  const count = 900 * perSecond;
  const byShard = new Map<string, Invoice[]>(groups.map((shard) => [shard, []]));
  for (let n = 0; n < count; n++) {
    const shard = groups[n % groups.length] ?? '';
    byShard.get(shard)?.push(anInvoice({ id: `inv-${n}`, shard, customerId: `cus-${n % 50}` }));
  }
  const claimed = new Map<string, number>();
  const waiting: { id: string; at: number }[] = [];
  let paid = 0;
  let most = 0;
  let stale = 0;
  const openClaims = async () => waiting.length - paid;
  const pace = memoryPaceStore();
  await pace.create('charges', { ...newSchedule(perSecond, 0), last: { rate: perSecond, refusedShare: 0 } });

  const claimers = groups.map(async (group) => {
    const due = byShard.get(group) ?? [];
    let next = 0;
    const invoices = {
      async *due({ pageSize }: { pageSize: number }) {
        for (let from = next; from < due.length; from += pageSize) yield due.slice(from, from + pageSize);
      },
    };
    const timed = { claimStaleMs, callWindowMs: 0.7 * claimStaleMs };
    const policy = { groups: groups.length, batchSize: 50, ...timed, ceiling: perSecond };
    const room = createClaimRoom({ invoices: { openClaims }, pace, clock }, 'charges', policy);
    const plan = planDue({ invoices, clock, room }, { shards: [group], pageSize: 200 });
    for await (const piece of plan) {
      if (piece instanceof Idle) await clock.sleep(piece.ms);
      else if (piece.kind === 'claim') {
        await clock.sleep(20);
        next += piece.invoices.length;
        for (const { id } of piece.invoices) {
          claimed.set(id, (claimed.get(id) ?? 0) + 1);
          waiting.push({ id, at: clock.now() });
        }
        most = Math.max(most, waiting.length - paid);
      }
    }
  });

  let idle = 0;
  for (let elapsed = 0; elapsed < 1_000 && paid < count; elapsed++) {
    await clock.advance(second);
    const done = waiting.slice(paid, paid + perSecond);
    stale += done.filter(({ at }) => clock.now() - at > claimStaleMs).length;
    if (done.length < perSecond && paid + done.length < count && elapsed > 5) idle++;
    paid += done.length;
  }
  await clock.advance(10 * second);
  await Promise.all(claimers);
  expect(paid).toBe(count);
  expect(claimed.size).toBe(count);
  expect([...claimed.values()].filter((times) => times > 1)).toEqual([]);
  expect(most).toBeLessThanOrEqual(120 * perSecond);
  expect(stale).toBe(0);
  expect(idle).toBe(0);
});
