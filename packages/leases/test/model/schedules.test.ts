import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../../test/support/onlyInFull.ts';
import { type Coverage, runSchedule } from './runSchedule.ts';

/** `LOCKING_SCHEDULES=100000` for the long campaign, `LOCKING_SEED` to repeat a seed. */
const { LOCKING_SCHEDULES: ofCampaign, LOCKING_SEED: chosen } = process.env;
const schedules = Number(ofCampaign ?? (isFull ? 1000 : 300));
const seed = Number(chosen ?? (ofCampaign === undefined ? 1 : Date.now() % 2_000_000_000));

test(
  `no schedule of ${schedules} breaks a lease (seed ${seed})`,
  async () => {
    const all: Coverage[] = [];
    const property = fc.asyncProperty(fc.scheduler(), fc.integer(), async (scheduler, worldSeed) => {
      all.push(await runSchedule(scheduler, worldSeed));
    });
    await fc.assert(property, { numRuns: schedules, seed, endOnFailure: true });

    const sum = (what: keyof Coverage) => all.reduce((total, coverage) => total + coverage[what], 0);
    const totals = ['steps', 'tenures', 'losses', 'accepted', 'fencedOut'] as const;
    console.log(
      `${schedules} schedules, seed ${seed}: ${totals.map((what) => `${what} ${sum(what)}`).join(', ')}`,
    );
    // A campaign that never saw one of these proves little.
    for (const what of totals) expect(sum(what)).toBeGreaterThan(0);
  },
  60_000 + schedules * 50,
);
