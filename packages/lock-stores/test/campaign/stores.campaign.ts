/**
 * The model's schedules on real servers, in real time: part of `npm run check -- lock-campaign`. `LOCKING_STORES` names the
 * stores (`quorum,redis,postgres` unless told), `LOCKING_REAL_SCHEDULES` says how many schedules each gets, `LOCKING_SEED`
 * repeats their chances.
 */
import { describe, expect, test } from 'vitest';
import { chosenStores } from '../../../../bench/stores/index.ts';
import { seededRandom } from '../../../../test/support/seededRandom.ts';
import { type Coverage, runRealSchedule } from './runRealSchedule.ts';

const schedules = Number(process.env.LOCKING_REAL_SCHEDULES ?? 60);
const seed = Number(process.env.LOCKING_SEED ?? Date.now() % 2_000_000_000);
/** Servers in use by schedules at the same time: connections cost their one process more than anything else. */
const together = 12;

describe.each(chosenStores(process.env.LOCKING_STORES ?? 'quorum,redis,postgres'))('$name', (kind) => {
  test(`no schedule of ${schedules} breaks a lease (seed ${seed})`, async () => {
    // No server crashes here, and a slow disk would end requests by their limit: 667 ms under a lease of four seconds.
    await using server = await kind.start({ durable: false });
    const all: Coverage[] = [];
    let next = 0;
    await Promise.all(
      Array.from({ length: Math.floor(together / server.ports.length) }, async () => {
        while (next < schedules) {
          const random = seededRandom(seed + next++);
          const { leaseMs } = kind;
          all.push(await runRealSchedule({ server, leaseMs, chaosMs: 10 * leaseMs, random }));
        }
      }),
    );
    const sum = (what: keyof Coverage) => all.reduce((total, coverage) => total + coverage[what], 0);
    const totals = ['faults', 'tenures', 'losses', 'accepted', 'fencedOut'] as const;
    console.log(
      `${kind.name}, ${schedules} schedules: ${totals.map((what) => `${what} ${sum(what)}`).join(', ')}`,
    );
    for (const what of ['faults', 'tenures', 'losses', 'accepted'] as const)
      expect(sum(what)).toBeGreaterThan(0);
  });
});
