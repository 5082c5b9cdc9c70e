import { replaceGlobals } from './engine/globals.ts';
import { explain } from './explain.ts';
import { knownOpen } from './invariants/open.ts';
import { describe } from './plan/faults.ts';
import type { PlanOptions } from './plan/plan.ts';
import { planOf } from './plan/planOf.ts';
import { simulate } from './simulate.ts';

/** Runs one schedule, and tells what happens in it. Resolves with whether everything held. */
export async function replay(
  { seed, strict, trace, ...shape }: PlanOptions & { seed: number; strict: boolean; trace: boolean },
  print: (line: string) => void,
): Promise<boolean> {
  replaceGlobals({ stacks: true });
  const plan = planOf(seed, shape);
  const simulated = await simulate(plan, { trace: true, ...(strict ? {} : { except: knownOpen }) });
  const { history, violation, lastedMs, events } = simulated;
  if (trace) for (const line of history.lines) print(line);
  else for (const fault of plan.faults) print(describe(fault));
  print(
    `seed ${seed}: ${events} events in ${(lastedMs / 3_600_000).toFixed(1)} simulated hours, history ${history.hash}`,
  );
  for (const line of explain(simulated)) print(line);
  return violation === undefined;
}
