/** Makes the faults of a plan happen, each at its time. */
import type { Timeline } from '../engine/machine.ts';
import type { Conditions } from '../plan/conditions.ts';
import { describe, type Fault, type OperatorAction } from '../plan/faults.ts';
import type { Plan } from '../plan/plan.ts';
import { workItemsIn } from '../world/storageQueue.ts';
import type { Fleet } from './fleet.ts';
import type { Host } from './host.ts';
import { newerMessage } from './newerRelease.ts';
import { pickInvoice, press, reasonOf } from './operators.ts';
import { restoreDatabase } from './restore.ts';

/** Times of the steps by which a deployment exchanges an instance (ms). */
const exchangeMs = { graceMs: 10_000, killMs: 5_000, downMs: 5_000 };

/** Tries of one caller. */
const mostTries = 6;

export function applyFaults(fleet: Fleet, plan: Plan, timeline: Timeline, conditions: Conditions): void {
  for (const fault of plan.faults) {
    fleet.later(fault.at, () => {
      fleet.note('fault', describe(fault));
      apply(fault);
    });
  }

  function count({ kind }: Fault): void {
    countAs(kind);
  }

  function countAs(name: string): void {
    conditions.met.set(name, (conditions.met.get(name) ?? 0) + 1);
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
      case 'searchAway':
      case 'eventsLost':
      case 'stale':
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
        const isAsked = ask(host, fault, invoiceId, (status) => {
          if (status >= 400 && status < 500 && fleet.says(invoiceId, reasonOf(number)))
            fleet.report(
              'answer is true',
              `${fault.action} is answered with ${status}, and was done`,
              invoiceId,
            );
        });
        if (isAsked) countAs(`operator ${fault.action}`);
        return;
      }
      case 'caller':
        countAs(`caller ${fault.action}`);
        call(fault, fault.lost);
        return;
      case 'reversal':
        count(fault);
        world.provider.reverse(`inv-${fault.invoice}`, fault.what);
        return;
      case 'restore':
        count(fault);
        restoreDatabase(fleet, fault.backMs);
        return;
      case 'refundByHand': {
        const invoice = world.invoices.get(`inv-${fault.invoice}`);
        const refund = invoice?.reversals?.refunds.find(({ status }) => status === 'requested');
        if (invoice === undefined || refund === undefined) return;
        if (!world.provider.refundByHand(invoice.payment.id ?? '', refund.amountMinor)) return;
        count(fault);
        world.byHand.set(refund.id, timeline.now);
        return;
      }
      case 'payment': {
        countAs(`payment by ${fault.by}`);
        const { by, ends, afterMs, names } = fault;
        const planned = plan.invoices[fault.invoice];
        if (planned === undefined) return;
        const { id, customerId, currency, amountMinor } = planned;
        const made = world.provider.pay({
          by,
          ends,
          afterMs,
          currency,
          customerId: fault.customer === 'same' ? customerId : `${customerId}-other`,
          amountMinor: fault.amount === 'same' ? amountMinor : amountMinor + 500,
          ...(names ? { invoiceId: id } : {}),
        });
        fleet.note(by, `pays ${id} with ${made.id}`);
        return;
      }
      case 'queueLost':
        count(fault);
        for (const { text } of world.queues.workItems.messages()) {
          const items = workItemsIn(text);
          // Only a newer release knows what it is about.
          if (items.length === 0) world.lostOfNewer++;
          for (const { resourceId } of items) world.lostWork.add(resourceId);
        }
        world.queues.workItems.lose();
    }
  }

  /** A host answers what a person asks for. False: there is nothing to ask. */
  function ask(
    host: Host,
    { action, number }: Pick<Extract<Fault, { kind: 'operator' | 'caller' }>, 'action' | 'number'>,
    invoiceId: string,
    answered: (status: number) => void,
  ): boolean {
    const pressed = press(fleet.world, host, fleet.durable, { action, invoiceId, number });
    if (pressed === undefined) return false;
    timeline.running = undefined;
    host.machine.later(0, () =>
      host.run('operator', pressed, (answer, failed) => {
        const { status = 200 } = (failed ? {} : (answer ?? {})) as { status?: number };
        if (!failed) {
          if (status === 200) heed(action, invoiceId);
          answered(status);
        }
        fleet.note(host.machine.name, `answers ${failed ? 500 : status} to ${action} ${invoiceId}`);
      }),
    );
    return true;
  }

  /** Answers that a person has got. */
  function heed(action: OperatorAction, invoiceId: string): void {
    const { voided } = fleet.world;
    if (action === 'void') voided.add(invoiceId);
    else if (action === 'bulkRetry') voided.clear();
    // Advice may be another try, too.
    else if (/^retry|advice/i.test(action)) voided.delete(invoiceId);
  }

  /** Asks over HTTP, and again under the same key for as long as no answer comes or it is that nobody can say. */
  function call(fault: Extract<Fault, { kind: 'caller' }>, lost: number, tries = 0): void {
    const invoiceId = `inv-${fault.invoice}`;
    const host = fleet.pick();
    const again = () => {
      if (tries < mostTries) call(fault, Math.max(0, lost - 1), tries + 1);
    };
    // Nobody waits for an answer for ever; one that is lost is no answer.
    let isOver = false;
    fleet.later(fault.everyMs, () => {
      if (isOver) return;
      isOver = true;
      again();
    });
    if (host === undefined) return;
    ask(host, fault, invoiceId, (status) => {
      if (isOver || lost > 0 || status >= 500) return;
      isOver = true;
      const isUndone = status >= 400 && fleet.says(invoiceId, reasonOf(fault.number));
      // Another try of a retry meets what the first has done; the same void or refund is the same.
      const isVoid = fault.action === 'void' && fleet.statusOf(invoiceId) === 'voided';
      const repeats = fault.action === 'refund' || isVoid;
      if (isUndone && repeats)
        fleet.report('answer is true', `${fault.action} is answered with ${status}, and was done`, invoiceId);
    });
  }
}
