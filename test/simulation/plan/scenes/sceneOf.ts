/**
 * Scenes: plans for what chance seldom brings together, such as a charge whose answer is lost just before the provider is away for
 * a day. What happens is set, when and to whom is not. One seed in ten is a scene.
 */
import type { Fault } from '../faults.ts';
import { hour, type Plan, randomOf } from '../plan.ts';
import { endedProcesses } from './endedProcesses.ts';
import { pauses } from './pauses.ts';
import { invoicesOf, type Scenes, type Shape, second, tick } from './scene.ts';
import { turns } from './turns.ts';
import { unclearOutcomes } from './unclearOutcomes.ts';

const scenes: Scenes = { ...unclearOutcomes, ...endedProcesses, ...pauses, ...turns };
const scenesEvery = 10;

/** The plan of a seed that is a scene; undefined for the others. */
export function sceneOf(seed: number): Plan | undefined {
  if (seed % scenesEvery !== scenesEvery - 1) return undefined;
  const random = randomOf(seed, 'scene');
  const all = Object.values(scenes);
  const scene = all[Math.floor(seed / scenesEvery) % all.length];
  if (scene === undefined) return undefined;
  const { faults, ...chosen } = scene(random);
  const usual: Shape = {
    instances: random.pick([1, 2, 3, 5]),
    horizonMs: hour,
    invoices: invoicesOf(random, random.between(5, 30)),
    clockErrorMs: [],
    rate: random.pick([1, 2, 10, 25]),
    shards: random.pick([1, 1, 4]),
    shardGroups: 1,
    batchSize: random.pick([3, 10, 50]),
    claimStaleSeconds: random.pick([60, 300]),
    paymentTimeoutSeconds: 10,
    invoiceEveryMs: tick,
    listsEvents: random.next() < 0.5,
    notifies: random.next() < 0.5,
    searchLagMs: random.pick([second, tick]),
  };
  const plan = { ...usual, ...chosen, seed };
  return {
    ...plan,
    clockErrorMs: Array.from({ length: plan.instances }, () => 0),
    faults: faults
      .toSorted((one, other) => one.at - other.at)
      .map((fault, number): Fault => ({ ...fault, number })),
  };
}
