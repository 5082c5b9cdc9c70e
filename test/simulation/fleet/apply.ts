/** Makes the faults of a plan happen, each at its time. */
import type { Timeline } from '../engine/machine.ts';
import type { Conditions } from '../plan/conditions.ts';
import { describe, type Fault } from '../plan/faults.ts';
import type { Plan } from '../plan/plan.ts';
import type { Fleet } from './fleet.ts';
import { newerMessage } from './newerRelease.ts';
import { pickInvoice, press, reasonOf } from './operators.ts';

/** How long each instance of a deployment takes to be exchanged, in milliseconds. */
const exchangeMs = { graceMs: 10_000, killMs: 5_000, downMs: 5_000 };

export function applyFaults(fleet: Fleet, plan: Plan, timeline: Timeline, conditions: Conditions): void {
  for (const fault of plan.faults) {
    fleet.later(fault.at, () => {
      fleet.note('fault', describe(fault));
      apply(fault);
    });
  }

  function count(fault: Fault): void {
    conditions.met.set(fault.kind, (conditions.met.get(fault.kind) ?? 0) + 1);
  }

  function apply(fault: Fault): void {
    const { world } = fleet;
    const { number } = fault;
    switch (fault.kind) {
      case 'crash':
      case 'oneCall':
      case 'hang':
      case 'leasesLost': {
        const host = fault.host === undefined ? undefined : fleet.host(fault.host);
        if (fault.host !== undefined && host === undefined) return;
        conditions.await(fault, host?.machine);
        return;
      }
      case 'stall': {
        const host = fleet.host(fault.host);
        if (host === undefined) return;
        count(fault);
        fleet.stall(host, fault.ms, fault.frozen);
        return;
      }
      case 'stop': {
        const host = fleet.host(fault.host);
        if (host === undefined) return;
        count(fault);
        fleet.stop(host, fault);
        return;
      }
      case 'clock': {
        count(fault);
        fleet.host(fault.host)?.machine.setClock(fault.byMs);
        return;
      }
      case 'flaky':
      case 'outage':
      case 'slow':
      case 'rateCut':
      case 'disorder':
        conditions.begin(fault);
        fleet.later(fault.ms + 1, fleet.offer);
        return;
      case 'deployment':
        count(fault);
        fleet.deploy(fault.changes);
        for (const host of fleet.alive())
          fleet.later(host.number * fault.everyMs, () => {
            const now = fleet.host(host.number);
            if (now === host) fleet.stop(host, exchangeMs);
          });
        return;
      case 'newerMessage': {
        count(fault);
        const message = newerMessage(number);
        if (fault.queue === 'serviceBus') world.queues.commands.send(`newer-${number}`, message);
        else world.queues.workItems.put(JSON.stringify(message));
        return;
      }
      case 'operator': {
        const host = fleet.host(fault.host) ?? fleet.pick();
        if (host === undefined) return;
        const invoiceId = pickInvoice(world, fault.action, fault);
        const pressed = press(world, host, fleet.durable, { action: fault.action, invoiceId, number });
        if (pressed === undefined) return;
        const name = `operator ${fault.action}`;
        conditions.met.set(name, (conditions.met.get(name) ?? 0) + 1);
        timeline.running = undefined;
        host.machine.later(0, () =>
          host.run('operator', pressed, (answer, failed) => {
            const { status = 200 } = (failed ? {} : (answer ?? {})) as { status?: number };
            if (!failed && status >= 400 && status < 500 && fleet.says(invoiceId, reasonOf(number)))
              fleet.report(
                'answer is true',
                `${fault.action} is answered with ${status}, and was done`,
                invoiceId,
              );
            fleet.note(host.machine.name, `answers ${failed ? 500 : status} to ${fault.action} ${invoiceId}`);
          }),
        );
        return;
      }
      case 'reversal':
        count(fault);
        world.provider.reverse(`inv-${fault.invoice}`, fault.what);
    }
  }
}
