import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { memoryPauseStore } from '../../../../test/memory/memoryPauseStore.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { StoreAway } from '../../src/documents/documentStore.ts';
import { cosmosPauseStore } from '../../src/rate/cosmosPaceStore.ts';
import { createPacer } from '../../src/rate/pacer.ts';
import type { PauseOrder, PauseStore } from '../../src/rate/paceStore.ts';
import { inForce, pausedWithinMs, watchPause } from '../../src/rate/pause.ts';
import { sharedClock } from '../../src/rate/schedule.ts';
import { createTurns } from '../../src/rate/turns.ts';

const at = '2026-01-01T12:00:00.000Z';
const pause: PauseOrder = { reason: 'the provider is down', by: 'ada', at };
const resumed = { at: '2026-01-01T13:00:00.000Z', by: 'bob' };

describe('a pause', () => {
  test('is in force until somebody resumes, or its end has come', () => {
    fc.assert(
      fc.property(fc.integer({ min: -5, max: 5 }), (minutes) => {
        const now = Date.parse(at) + minutes * 60_000;
        expect(inForce(undefined, now)).toBeUndefined();
        expect(inForce(pause, now)).toBe(pause);
        const ending = { ...pause, until: at };
        expect(inForce(ending, now)).toBe(minutes < 0 ? ending : undefined);
        expect(inForce({ ...pause, resumedAt: resumed.at }, now)).toBeUndefined();
      }),
    );
  });
});

describe('the stores of the pause', () => {
  let cosmos: PayonceCosmos;
  beforeAll(async () => {
    cosmos = await payonceCosmos();
  });
  afterAll(() => cosmos[Symbol.asyncDispose]());

  const stores: Record<string, () => PauseStore> = {
    cosmos: () => cosmosPauseStore(cosmos.containers.pace),
    memory: () => memoryPauseStore(),
  };
  test.each(Object.keys(stores))('%s keeps the latest, which ends once', async (name) => {
    const store = stores[name]?.() ?? memoryPauseStore();
    expect(await store.read()).toBeUndefined();
    expect(await store.end(pause, resumed)).toBe(false);
    await store.begin({ ...pause, until: resumed.at });
    expect(await store.read()).toMatchObject({ ...pause, until: resumed.at });
    const later = { ...pause, at: '2026-01-01T12:30:00.000Z', reason: 'still down' };
    await store.begin(later);
    expect(await store.end(pause, resumed)).toBe(false);
    const stands = await store.read();
    expect(stands).toMatchObject(later);
    expect(stands?.until).toBeUndefined();
    expect(await store.end(later, resumed)).toBe(true);
    expect(await store.end(later, resumed)).toBe(false);
    expect(await store.read()).toMatchObject({ ...later, resumedAt: resumed.at, resumedBy: 'bob' });
    await store.begin(pause);
    expect(inForce(await store.read(), Date.parse(at))).toMatchObject(pause);
  });
});

/** A watch whose store may take long, or fail. */
function watching() {
  const clock = virtualClock(Date.parse(at));
  const outside = { delayMs: 0, fault: undefined as Error | undefined };
  const store = memoryPauseStore(async () => {
    if (outside.delayMs > 0) await clock.sleep(outside.delayMs);
    if (outside.fault !== undefined) throw outside.fault;
  });
  return { clock, outside, store, watch: watchPause(store, clock) };
}

describe('a process that watches the pause', () => {
  test('does not know at first, and then looks every two seconds while it is asked', async () => {
    const { clock, store, watch } = watching();
    expect(watch.gate()).toBe('unknown');
    await clock.advance(0);
    expect(watch.gate()).toBe('open');
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      for (let asked = 0; asked < 100; asked++) watch.gate();
    }
    expect(store.reads).toBe(6);
    await clock.advance(60_000);
    expect(store.reads).toBe(6);
  });

  test('sees a pause within three seconds, and its end', async () => {
    const { clock, store, watch } = watching();
    await watch.look();
    await store.begin(pause);
    await clock.advance(2_000);
    watch.gate();
    await clock.advance(1);
    expect(watch.gate()).toBe('paused');
    await store.end(pause, resumed);
    await clock.advance(2_000);
    await watch.look();
    expect(watch.gate()).toBe('open');
  });

  test('makes no call ten seconds after a pause, whatever the store and the process do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            waitMs: fc.integer({ min: 0, max: 12_000 }),
            stalls: fc.boolean(),
            delayMs: fc.integer({ min: 0, max: 12_000 }),
            fails: fc.boolean(),
          }),
          { minLength: 1, maxLength: 12 },
        ),
        fc.nat({ max: 11 }),
        async (steps, pausedAfter) => {
          const clock = virtualClock();
          const outside = { delayMs: 0, fault: undefined as Error | undefined };
          let ordered = Number.POSITIVE_INFINITY;
          const stored: { pause?: PauseOrder } = {};
          const watch = watchPause(
            {
              async read() {
                // The store answers with what it had when the request came.
                const read = stored.pause;
                if (outside.delayMs > 0) await clock.sleep(outside.delayMs);
                if (outside.fault !== undefined) throw outside.fault;
                return read;
              },
            },
            clock,
          );
          for (const [index, step] of steps.entries()) {
            if (index === pausedAfter) {
              stored.pause = pause;
              ordered = clock.monotonic();
            }
            outside.delayMs = step.delayMs;
            outside.fault = step.fails ? new StoreAway('noAnswer', undefined, 'away') : undefined;
            watch.gate();
            if (step.stalls) clock.stall(step.waitMs);
            else await clock.advance(step.waitMs);
            if (watch.gate() === 'open') {
              expect(clock.monotonic() - ordered).toBeLessThan(pausedWithinMs);
            }
          }
        },
      ),
    );
  });

  test('says that it does not know once the store is silent, and does not press it', async () => {
    const { clock, store, outside, watch } = watching();
    await watch.look();
    outside.fault = new StoreAway('noAnswer', undefined, 'away');
    await clock.advance(8_000);
    expect(watch.gate()).toBe('unknown');
    await watch.look();
    expect(watch.gate()).toBe('unknown');
    const before = store.reads;
    for (let n = 0; n < 100; n++) {
      watch.gate();
      await clock.advance(10);
    }
    expect(store.reads - before).toBeLessThanOrEqual(2);
    outside.fault = undefined;
    await clock.advance(1_000);
    await watch.look();
    expect(watch.gate()).toBe('open');
  });
});

describe('turns', () => {
  test('while no call may go, nothing says how soon the next one does: whoever looks does so at its own pace', () => {
    const clock = virtualClock();
    const shared = sharedClock(clock);
    const turns = createTurns({ clock, shared, mayGo: () => false }, { onEnd() {}, onTurn() {} });
    turns.add([{ at: shared.now(), epoch: 1 }]);
    void turns.wait(clock.monotonic() + 1_000, 'inLine');
    expect(turns.go(10)).toBeUndefined();
  });

  function pacing() {
    const { clock, outside, store, watch } = watching();
    const instance = anInstance({ clock });
    const parts = { store: memoryPaceStore(), instance, pause: watch };
    const pacer = createPacer(parts, { limit: 'charges', ceiling: 1 });
    return { clock, outside, store, pacer, soon: () => clock.monotonic() + 60_000 };
  }

  test('a pause ends every wait for a turn, and nothing is let in', async () => {
    const { clock, store, pacer, soon } = pacing();
    const first = pacer.turn(soon());
    await clock.advance(2_000);
    expect(await first).toBeDefined();
    const waits = Array.from({ length: 20 }, () => pacer.turn(soon()));
    const batches = [pacer.admit(50, soon()), pacer.admit(50, soon())];
    await store.begin(pause);
    await clock.advance(pausedWithinMs);
    const turns = await Promise.all(waits);
    expect(turns.filter((turn) => turn !== undefined).length).toBeLessThan(5);
    expect((await Promise.all(batches)).at(-1)).toBeUndefined();
    const later = [pacer.turn(soon()), pacer.admit(1, soon())];
    await clock.advance(100);
    expect(await Promise.all(later)).toEqual([undefined, undefined]);
    await store.end(pause, resumed);
    await clock.advance(2_000);
    const after = pacer.turn(soon());
    await clock.advance(5_000);
    expect(await after).toBeDefined();
  });

  test('while it is not known whether calls are paused, they wait', async () => {
    const { clock, outside, pacer, soon } = pacing();
    outside.fault = new StoreAway('noAnswer', undefined, 'away');
    let given = 0;
    const turn = pacer.turn(soon());
    void turn.then(() => given++);
    await clock.advance(20_000);
    expect(given).toBe(0);
    outside.fault = undefined;
    await clock.advance(3_000);
    expect(await turn).toBeDefined();
  });
});
