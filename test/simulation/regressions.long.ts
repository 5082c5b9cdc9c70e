import { expect, test } from 'vitest';
import { longRegressions } from './kept/regressions.ts';
import type { Order } from './orders.ts';
import { answerOf, startWorker } from './schedules.ts';

/** Returns the violation in the plan of this name: in the app as it is, or with a guard switched off. */
async function violationOf(kept: string, sabotage?: string) {
  const worker = startWorker(sabotage === undefined ? {} : { sabotage });
  const order: Order = { from: 0, count: 1, strict: false, onViolation: 'goOn', kept };
  const { schedules } = await answerOf(worker, order).finally(() => worker.kill());
  expect(schedules).toHaveLength(1);
  return schedules[0]?.violation;
}

test.concurrent.each(longRegressions)('$name: $found', { timeout: 600_000 }, async (one) => {
  expect(await violationOf(one.name)).toBeUndefined();
  const noticed = await violationOf(one.name, one.guard);
  expect(noticed?.invariant).toBe(one.invariant);
});
