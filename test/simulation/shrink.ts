import type { Fault } from './plan/faults.ts';
import type { Plan } from './plan/plan.ts';
import type { Simulated } from './simulate.ts';

/**
 * The same schedule with as few faults as still violate the same invariant. First large parts are left out, then smaller
 * ones (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
 */
export async function shrink(failed: Simulated, run: (plan: Plan) => Promise<Simulated>): Promise<Simulated> {
  let smallest = failed;
  for (let size = Math.ceil(failed.plan.faults.length / 2); size >= 1; size = size === 1 ? 0 : size >> 1) {
    for (let start = 0; start < smallest.plan.faults.length;) {
      const faults = without(smallest.plan.faults, start, size);
      const tried = await run({ ...smallest.plan, faults });
      if (tried.violation?.invariant === failed.violation?.invariant) smallest = tried;
      else start += size;
    }
  }
  return smallest;
}

function without(faults: readonly Fault[], start: number, size: number): Fault[] {
  return faults.filter((_, place) => place < start || place >= start + size);
}
