import { expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { keepsEverything, redisPrograms, startRedis } from '../../../../test/support/servers/redis.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { createLocks, type Lease, lead } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { quorumLockStore } from '../../src/quorum/quorumLockStore.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

const leaseMs = 6_000;

describeWith(redisPrograms, 'an election over five masters', () => {
  test('with two masters killed the leader leads on; with a third nobody leads; once it is back, somebody does', async () => {
    const masters = await Promise.all([1, 2, 3, 4, 5].map(() => startRedis(keepsEverything)));
    const [first, second, third] = masters;
    if (first === undefined || second === undefined || third === undefined) throw new Error('too few');
    const stop = new AbortController();
    const terms: Lease[] = [];
    let leading = 0;
    let most = 0;

    async function campaign(instance: string): Promise<void> {
      await using store = quorumLockStore(
        masters.map(({ url }) => redisLockStore(url)),
        { memberMs: 500 },
      );
      const options = { clock: systemClock, telemetry: noTelemetry, leaseSeconds: leaseMs / 1000 };
      const work = async (lease: Lease) => {
        terms.push(lease);
        most = Math.max(most, ++leading);
        const over = AbortSignal.any([lease.signal, stop.signal]);
        await new Promise((resolve) => over.addEventListener('abort', resolve, { once: true }));
        leading--;
      };
      await lead(createLocks(store, options), 'leader', { instance, job: 'election' }, work, stop.signal);
    }
    const candidates = ['a', 'b', 'c'].map(campaign);

    try {
      await until(
        async () => terms.length,
        (count) => count === 1,
      );
      // Three of five may have voted for it. Its first renewal takes the lease to the others.
      await systemClock.sleep(leaseMs * 0.6);
      await Promise.all([first.kill(), second.kill()]);
      await systemClock.sleep(2 * leaseMs);
      terms[0]?.assertHeld();
      expect(terms).toHaveLength(1);

      await third.kill();
      await until(
        async () => leading,
        (count) => count === 0,
      );
      expect(terms[0]?.lost?.reason).toBe('unreachable');
      await systemClock.sleep(2 * leaseMs);
      expect(terms).toHaveLength(1);

      await third.start();
      await until(
        async () => terms.length,
        (count) => count === 2,
      );
      expect(terms[1]?.fence).toBeGreaterThan(terms[0]?.fence ?? 0);
      expect(most).toBe(1);
    } finally {
      stop.abort();
      await Promise.all(candidates);
      await Promise.all(masters.map((master) => master[Symbol.asyncDispose]()));
    }
  }, 120_000);
});
