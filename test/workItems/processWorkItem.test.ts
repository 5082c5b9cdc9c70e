import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LeaseLost, LockTimeout, workItemKey } from '../../src/locking/index.ts';
import { defineStage, type StageContext } from '../../src/workItems/defineStage.ts';
import { cosmosEffects } from '../../src/workItems/effects.ts';
import { processWorkItem, WorkItemRefused } from '../../src/workItems/processWorkItem.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { type VirtualLocks, virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A worker with one stage, `stamp`, whose effects outside are counted. */
function worker(
  handle: (context: StageContext) => Promise<void> | void = () => {},
  world: VirtualLocks = virtualLocks(),
) {
  const stamped: string[] = [];
  const stamp = defineStage({
    name: 'stamp',
    input: z.strictObject({ text: z.string() }),
    async handle({ text }, context) {
      await handle(context);
      context.assertHeld();
      stamped.push(`${context.resourceId}: ${text}`);
      return { text };
    },
  });
  const effects = cosmosEffects(cosmos.containers.workItems);
  const dependencies = { ...world, stages: [stamp], effects, instance: 'host-a' };
  return { stamped, world, effects, work: (message: unknown) => processWorkItem(dependencies, message) };
}

const item = (resourceId: string) => ({ resourceId, stage: 'stamp', input: { text: 'x' } });

describe('processWorkItem', () => {
  test('runs the stage and records its effect', async () => {
    const { work, stamped } = worker();
    expect(await work(item('one'))).toBe('done');
    expect(stamped).toEqual(['one: x']);
    const { resource } = await cosmos.containers.workItems.item('stamp', 'one').read();
    expect(resource).toMatchObject({
      status: 'done',
      stage: 'stamp',
      effect: { text: 'x', by: 'host-a', at: expect.any(String) },
    });
  });

  test('a message that comes twice has its effect once', async () => {
    const { work, stamped } = worker();
    await work(item('two'));
    expect(await work(item('two'))).toBe('doneBefore');
    expect(stamped).toHaveLength(1);
  });

  test('the same message in two processes at the same time has its effect once', async () => {
    const inside = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const first = worker(() => {
      inside.resolve();
      return finish.promise;
    });
    const second = worker(() => {}, virtualLocks({}, first.world));
    const running = first.work(item('both'));
    await inside.promise;
    const waiting = second.work(item('both'));
    await first.world.clock.advance(1_000);
    finish.resolve();
    expect(await running).toBe('done');
    await first.world.clock.advance(2_000);
    expect(await waiting).toBe('doneBefore');
    expect([...first.stamped, ...second.stamped]).toEqual(['both: x']);
  });

  test('one that is held elsewhere for the whole wait goes back to the queue', async () => {
    const { work, stamped, world } = worker();
    const other = virtualLocks({}, world);
    await using _held = await other.locks.acquire(
      workItemKey('held', 'stamp'),
      { instance: 'host-b', job: 'x' },
      { waitMs: 0, fenced: false },
    );
    const waiting = work(item('held')).catch((error: unknown) => error);
    for (let n = 0; n < 8; n++) await world.clock.advance(1_000);
    expect(await waiting).toBeInstanceOf(LockTimeout);
    expect(stamped).toEqual([]);
  });

  test('a lease that is lost before the effect: none is made, and the item can be done again', async () => {
    const { work, stamped, world } = worker((context) => {
      world.clock.stall(120_000);
      context.assertHeld();
    });
    await expect(work(item('lost'))).rejects.toThrow(LeaseLost);
    expect(stamped).toEqual([]);
    expect(await worker().work(item('lost'))).toBe('done');
  });

  test('a process that dies after the effect and before its record does it again: stages are idempotent', async () => {
    const first = worker();
    await cosmos.fault({ kind: '503', count: 4, filter: { container: 'workItems', operation: 'create' } });
    await expect(first.work(item('unrecorded'))).rejects.toThrow();
    await cosmos.clearFaults();
    expect(first.stamped).toHaveLength(1);
    expect(await first.work(item('unrecorded'))).toBe('done');
  });

  test('a record whose answer was lost is a record', async () => {
    const { work, stamped } = worker();
    await cosmos.fault({
      kind: 'reset-after',
      count: 1,
      filter: { container: 'workItems', operation: 'create' },
    });
    await work(item('answered')).catch(() => {});
    expect(await work(item('answered'))).toBe('doneBefore');
    expect(stamped).toHaveLength(1);
  });

  test.each([
    ['not an object', 'nonsense', 'expected object'],
    ['no stage', { resourceId: 'a', input: {} }, 'stage:'],
    ['more than there should be', { ...item('a'), extra: 1 }, 'extra'],
    ['an unknown stage', { ...item('a'), stage: 'stmap' }, 'stage: expected one of stamp, got "stmap"'],
    ['a bad input', { ...item('a'), input: { text: 5 } }, 'stage stamp: input.text:'],
  ])('%s is refused by name, without a lease', async (_what, message, reason) => {
    const { work, world } = worker();
    const error = await work(message).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkItemRefused);
    expect((error as Error).message).toContain(reason);
    expect(world.calls).toEqual([]);
  });
});
