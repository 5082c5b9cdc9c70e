import { expect, test } from 'vitest';
import { createDispatcher, type SendMessages } from '../../packages/jobs/src/outbox/dispatcher.ts';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { sweepAndReport } from '../../src/ops/sweepAndReport.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { memoryOutboxStore } from '../memory/memoryOutboxStore.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { memoryPauseStore } from '../memory/memoryPauseStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

const held = { assertHeld() {} };

/** A sweeper over four shards with `count` messages in each; a send takes `sendMs`. */
async function sweeper({ count, away, sendMs = 0 }: { count: number; away?: string; sendMs?: number }) {
  const clock = virtualClock(Date.parse('2026-01-01T00:00:00.000Z'));
  const telemetry = recordedTelemetry();
  const instance = anInstance({ clock, telemetry });
  let isAway = false;
  const documents = memoryDocuments({
    now: () => clock.now(),
    readFault: (partition) => (isAway && partition === away ? 'noAnswer' : undefined),
  });
  const stored = memoryOutboxStore(documents);
  const outbox = {
    ...stored,
    async due(query: Parameters<typeof stored.due>[0]) {
      if (isAway && query.shard === undefined) throw new Error('a query over all shards asks this one, too');
      return stored.due(query);
    },
  };
  for (const shard of ['00', '01', '02', '03']) {
    for (let n = 0; n < count; n++) {
      const content = { id: `${shard}-${n}`, shard, destination: 'work-items', body: [] };
      const document = newOutboxMessage(content, clock.now() - 60_000);
      await documents.transact(shard, [{ kind: 'create', document }]);
    }
  }
  const send: SendMessages = async (all) => {
    if (sendMs > 0) await clock.advance(sendMs);
    return all.map(() => ({ kind: 'sent' }));
  };
  const parts = {
    outbox,
    dispatcher: createDispatcher({ documents, destinations: { 'work-items': send }, instance }),
    invoices: memoryInvoiceStore(documents, { clock, shards: 4 }),
    pace: memoryPaceStore(),
    pauses: memoryPauseStore(),
    poison: { waiting: async () => 0 },
    checkKey: async () => {},
    shards: 4,
    instance,
  };
  isAway = away !== undefined;
  return {
    telemetry,
    comeBack: () => {
      isAway = false;
    },
    sweep: () => sweepAndReport(parts, held, new AbortController().signal),
  };
}

test('a shard that is away: the others are swept, the gauges reported, and then it is named', async () => {
  const { sweep, comeBack, telemetry } = await sweeper({ count: 3, away: '02' });
  await expect(sweep()).rejects.toMatchObject({
    name: 'SweepIncomplete',
    message: expect.stringMatching(/^left out of the sweep: shard 02: /),
  });
  expect(telemetry.values(metric.outboxLagMs)).toHaveLength(9);
  expect(telemetry.values(metric.workItemPoisonWaiting)).toEqual([0]);
  comeBack();
  expect(await sweep()).toMatchObject({ dispatched: 3, failed: [] });
});

test('with more due than can be sent in time, a sweep ends before the next report is missed', async () => {
  const { sweep, telemetry } = await sweeper({ count: 400, sendMs: 60_000 });
  const { dispatched } = await sweep();
  // Four and a half minutes, a page of a hundred a minute; the one in flight is finished.
  expect(dispatched).toBe(500);
  expect(telemetry.values(metric.workItemPoisonWaiting)).toHaveLength(1);
  expect((await sweep()).dispatched, 'the next sweep goes on').toBe(500);
});
