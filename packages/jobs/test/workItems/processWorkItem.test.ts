import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { type VirtualLocks, virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { LeaseLost } from '../../../leases/src/index.ts';
import { cosmosEffects } from '../../src/workItems/cosmosWorkItems.ts';
import { createProcessWorkItem } from '../../src/workItems/processWorkItem.ts';
import type { StageContext } from '../../src/workItems/stage.ts';
import { defineStage, WorkItemRefused } from '../../src/workItems/workItem.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A consumer with one stage, `stamp`, that lists its effects outside. */
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
  const { locks, clock, telemetry } = world;
  const sent: unknown[] = [];
  const work = createProcessWorkItem({
    stages: [stamp],
    effects: cosmosEffects(cosmos.containers.workItems),
    locks,
    sendAgain: async (message) => void sent.push(message),
    poison: { async noteFailure() {} },
    instance: anInstance({ clock, telemetry }),
  });
  return { stamped, sent, world, work };
}

const item = (resourceId: string) => ({ resourceId, stage: 'stamp', input: { text: 'x' } });

describe('a work item', () => {
  test('runs its stage, and the effect is recorded', async () => {
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

  test.each(['a?b', 'a%2Fb', 'a ', 'a/b', 'a\\b', 'a#b'])(
    'is refused if its effect could not be found again: occasion "%s"',
    async (occasion) => {
      const { work, stamped } = worker();
      await expect(work({ ...item('odd'), occasion })).rejects.toThrow('occasion: expected no / ');
      await expect(work({ ...item('odd'), stage: occasion })).rejects.toThrow('stage: expected no / ');
      expect(stamped).toEqual([]);
    },
  );

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

  test('has no effect if its lease is lost first, and can be done later', async () => {
    const { work, stamped, world } = worker((context) => {
      world.clock.stall(120_000);
      context.assertHeld();
    });
    await expect(work(item('lost'))).rejects.toThrow(LeaseLost);
    expect(stamped).toEqual([]);
    expect(await worker().work(item('lost'))).toBe('done');
  });

  test('runs again if its effect could not be recorded: stages are idempotent', async () => {
    const first = worker();
    await cosmos.fault({ kind: '503', count: 4, filter: { container: 'workItems', operation: 'create' } });
    expect(await first.work(item('unrecorded'))).toBe('retried');
    await cosmos.clearFaults();
    expect(first.stamped).toHaveLength(1);
    expect(await first.work(first.sent[0])).toBe('done');
  });

  test('counts as recorded even if the answer to the record was lost', async () => {
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
    ['an input with an unknown field', { ...item('a'), input: { text: 'x', extra: 1 } }, 'extra'],
    ['a version that is not a number', { ...item('a'), version: '1' }, 'version:'],
    ['an unknown stage', { ...item('a'), stage: 'stmap' }, 'stage: expected one of stamp, got "stmap"'],
    ['a bad input', { ...item('a'), input: { text: 5 } }, 'stage stamp: input.text:'],
  ])('%s is refused with what is wrong, and takes no lease', async (_what, message, reason) => {
    const { work, world } = worker();
    const error = await work(message).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkItemRefused);
    expect((error as Error).message).toContain(reason);
    expect(world.calls).toEqual([]);
  });

  test('is done if it has a field that this release does not know: a newer release may add fields', async () => {
    const { work, stamped } = worker();
    expect(await work({ ...item('tolerant'), extra: 1 })).toBe('done');
    expect(stamped).toEqual(['tolerant: x']);
  });
});
