import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { consumeBatch } from '../../src/payments/consumeBatch.ts';
import { BatchUnfinished } from '../../src/payments/executeBatch.ts';
import { BatchRefused } from '../../src/payments/parseBatch.ts';
import { NoClearAnswer } from '../../src/payments/startBatch.ts';
import type { DeadLetterReason } from '../../src/platform/deadLetter.ts';
import { metric } from '../../src/platform/telemetry.ts';
import { type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

let world: PayingWorld;
let dead: [string, DeadLetterReason][];
let telemetry: ReturnType<typeof recordedTelemetry>;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  dead = [];
  telemetry = recordedTelemetry();
});

function consume(message: unknown, delivery?: unknown, signal?: AbortSignal) {
  const { dependencies } = world.consumer({ telemetry });
  const deadLetter = async (lockToken: string, why: DeadLetterReason) => void dead.push([lockToken, why]);
  return consumeBatch(
    { ...dependencies, deadLetter },
    { message, delivery, ...(signal === undefined ? {} : { signal }) },
  );
}

describe('consumeBatch', () => {
  test('a batch is paid, whatever else the trigger tells', async () => {
    const { batch } = await world.claimedBatch(2);
    const metadata = { lockToken: 'token', deliveryCount: 1, sequenceNumber: 7, subject: null };
    expect(await consume(batch, metadata)).toMatchObject({ settled: { paid: 2 } });
    expect(dead).toEqual([]);
  });

  test('what is no batch is dead-lettered at once, with the field as the reason', async () => {
    const outcome = await consume({ batchId: 'b' }, { lockToken: 'token', deliveryCount: 1 });
    expect(outcome).toEqual({ refused: expect.stringContaining('shard') });
    expect(dead).toEqual([
      ['token', { reason: 'BatchRefused', description: expect.stringContaining('shard') }],
    ]);
    expect(telemetry.values(metric.batchRejected)).toEqual([1]);
  });

  test('without a token it comes again, until the queue gives it up', async () => {
    await expect(consume('no batch')).rejects.toThrow(BatchRefused);
    expect(dead).toEqual([]);
  });

  test('a store that is away: the message comes again, and after five deliveries the claims do without it', async () => {
    const { batch, shard, ids } = await world.claimedBatch(2);
    await world.cosmos.fault({ kind: '503', count: 10_000, filter: { partitionKey: shard } });
    await expect(consume(batch, { lockToken: 'token', deliveryCount: 4 })).rejects.toThrow(NoClearAnswer);
    expect(telemetry.values(metric.batchLeft)).toEqual([]);
    expect(await consume(batch, { lockToken: 'token', deliveryCount: 5 })).toEqual({
      left: expect.stringContaining(batch.batchId),
    });
    expect(telemetry.values(metric.batchLeft)).toEqual([1]);
    expect(dead).toEqual([]);
    await world.cosmos.clearFaults();
    await world.makeDue(shard, ids);
    const { message } = await world.claimDue(shard);
    expect(await consume(message?.body)).toMatchObject({ settled: { paid: 2 } });
    expect(await world.charges(ids)).toHaveLength(2);
  });

  test('a stopping host leaves the message to others, however often it has come', async () => {
    const { batch } = await world.claimedBatch(1);
    const stopped = consume(batch, { lockToken: 'token', deliveryCount: 9 }, AbortSignal.abort());
    await expect(stopped).rejects.toThrow(BatchUnfinished);
    expect(dead).toEqual([]);
  });
});
