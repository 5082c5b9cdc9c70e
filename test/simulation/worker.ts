/** A process that runs schedules for a campaign: seeds in, results out. */
import { replaceGlobals } from './engine/globals.ts';
import { explain } from './explain.ts';
import { knownOpen } from './invariants/open.ts';
import { keptPlan } from './kept/regressions.ts';
import { type Order, orderSchema, type Result } from './orders.ts';
import type { Plan } from './plan/plan.ts';
import { planOf } from './plan/planOf.ts';
import { shrink } from './shrink.ts';
import { type Simulated, simulate } from './simulate.ts';

async function runOrder({ from, count, kept, strict, onViolation, ...given }: Order): Promise<Result> {
  const { instances, days } = given;
  const options = {
    ...(instances === undefined ? {} : { instances }),
    ...(days === undefined ? {} : { days }),
  };
  const except = strict ? new Set<never>() : knownOpen;
  const run = (plan: Plan, trace = false) => simulate(plan, { except, trace });
  const began = process.cpuUsage();
  const schedules: Result['schedules'] = [];
  const met: Record<string, number> = {};
  let failed: Simulated | undefined;
  for (let seed = from; seed < from + count; seed++) {
    const simulated = await run(kept === undefined ? planOf(seed, options) : keptPlan(kept));
    const { history, events, lastedMs, violation } = simulated;
    const { invariant, what } = violation ?? {};
    schedules.push({
      seed,
      hash: history.hash,
      events,
      lastedMs,
      ...(invariant === undefined || what === undefined ? {} : { violation: { invariant, what } }),
    });
    for (const [name, times] of simulated.met) met[name] = (met[name] ?? 0) + times;
    if (violation === undefined) continue;
    failed ??= simulated;
    if (onViolation !== 'goOn') break;
  }
  const { user, system } = process.cpuUsage(began);
  const result = { schedules, met, cpuMs: (user + system) / 1000 };
  if (failed === undefined || onViolation !== 'explain') return result;
  const { plan } = await shrink(failed, run);
  return { ...result, explanation: explain(await run(plan, true)) };
}

replaceGlobals();
process.on('message', (order) => {
  void runOrder(orderSchema.parse(order)).then((result) => process.send?.(result));
});
