/** A process that simulates outages: cells in, what was seen out. */
import { replaceGlobals } from '../engine/globals.ts';
import { simulate } from '../simulate.ts';
import type { OutageSeen } from './judgeOutage.ts';
import { minute, planOfCell } from './outageCell.ts';
import { type OutageAnswer, type OutageOrder, outageOrderSchema } from './outageOrders.ts';
import { watchOutage } from './watchOutage.ts';

async function run({ seed, ...cell }: OutageOrder): Promise<OutageAnswer> {
  const began = process.cpuUsage();
  let watched: (() => OutageSeen) | undefined;
  const { violation } = await simulate(planOfCell(cell, seed), {
    observe(fleet) {
      watched = watchOutage(fleet, cell.minutes * minute);
    },
  });
  if (watched === undefined) throw new Error('nobody watched the outage');
  const { user, system } = process.cpuUsage(began);
  const broken = violation && `"${violation.invariant}": ${violation.what}`;
  return {
    seen: watched(),
    cpuMs: (user + system) / 1000,
    ...(broken === undefined ? {} : { violation: broken }),
  };
}

replaceGlobals();
process.on('message', (message) => {
  void run(outageOrderSchema.parse(message)).then((answer) => process.send?.(answer));
});
