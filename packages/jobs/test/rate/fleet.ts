/**
 * A fleet of pacers in simulated time: instances with calls to make, one shared schedule, and a provider with a token
 * bucket. Everything random comes from one seed.
 */
import { createTokenBucket } from '../../../../local/stripe/tokenBucket.ts';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { seededRandom } from '../../../../test/support/seededRandom.ts';
import { type VirtualClock, virtualClock } from '../../../../test/support/virtualClock.ts';
import { createPacer } from '../../src/rate/pacer.ts';
import type { Place } from '../../src/rate/turns.ts';

export interface FleetOptions {
  seed: number;
  /** Calls per second that the provider takes. */
  allowance: number;
  /** `PAYMENT_RATE`. */
  ceiling?: number;
  latencyMs: number;
  instances: number;
  /** Maximum clock skew of each instance (ms). Absent: none. */
  skewMs?: number;
  storeMs?: number;
}

export interface Fleet {
  clock: VirtualClock;
  /** Lets time pass, and counts. */
  run(ms: number): Promise<{ paid: number; refused: number; calls: number; storeRequests: number }>;
  join(): void;
  /** Kills an instance: its slots are lost, its calls are made again by nobody. */
  kill(index: number): void;
  setAllowance(perSecond: number): void;
  setLatency(ms: number): void;
  setStore(state: 'up' | 'down'): void;
}

export function startFleet(options: FleetOptions): Fleet {
  const { seed, ceiling = options.allowance, skewMs = 0, storeMs = 8 } = options;
  const source = seededRandom(seed);
  const random = () => source.next();
  const clock = virtualClock();
  let { latencyMs, allowance } = options;
  let bucket = createTokenBucket(allowance, () => clock.monotonic());
  let storeState: 'up' | 'down' = 'up';
  const store = memoryPaceStore(async () => {
    await clock.sleep(storeMs * (0.5 + random()));
    if (storeState === 'down') await clock.sleep(10_000);
  });
  const totals = { paid: 0, refused: 0, calls: 0 };
  const instances: { kill(): void }[] = [];
  for (let index = 0; index < options.instances; index++) join();

  return {
    clock,
    join,
    kill(index) {
      const instance = instances[index];
      if (instance !== undefined) instance.kill();
    },
    setAllowance(perSecond) {
      allowance = perSecond;
      bucket = createTokenBucket(allowance, () => clock.monotonic());
    },
    setLatency(ms) {
      latencyMs = ms;
    },
    setStore(state) {
      storeState = state;
    },
    async run(ms) {
      const before = { ...totals, requests: store.requests };
      await clock.advance(ms);
      return {
        paid: totals.paid - before.paid,
        refused: totals.refused - before.refused,
        calls: totals.calls - before.calls,
        storeRequests: store.requests - before.requests,
      };
    },
  };

  function join(): void {
    const me = { alive: true };
    const skew = skewMs * (2 * random() - 1);
    const stopping = new AbortController();
    const instance = anInstance({
      clock: { ...clock, now: () => clock.now() + skew },
    });
    const pacer = createPacer({ store, instance, stopping: stopping.signal }, { limit: 'charges', ceiling });
    instances.push({
      kill() {
        me.alive = false;
        stopping.abort();
      },
    });
    void work();

    /** Always has batches of 50 at hand, as many as a host is given at a time. */
    async function work(): Promise<void> {
      await Promise.all(Array.from({ length: 32 }, batches));
    }

    async function batches(): Promise<void> {
      while (me.alive) {
        const admission = await pacer.admit(50, clock.monotonic() + 600_000);
        if (!me.alive || admission === undefined) return;
        await clock.sleep(20);
        const calls = Array.from({ length: 50 }, () => call());
        admission[Symbol.dispose]();
        await Promise.all(calls);
      }
    }

    async function call(place: Place = 'inLine'): Promise<void> {
      const turn = await pacer.turn(clock.monotonic() + 600_000, place);
      if (turn === undefined || !me.alive) return;
      totals.calls++;
      const before = latencyOf() / 2;
      await clock.sleep(before);
      if (!me.alive) return;
      const admitted = bucket.take();
      if (!admitted) {
        totals.refused++;
        turn.refused();
        return call('first');
      }
      await clock.sleep(latencyOf() / 2);
      totals.paid++;
      turn.answered();
    }
  }

  function latencyOf(): number {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return latencyMs * Math.exp(0.3 * normal);
  }
}
