/**
 * Invoices whose calls have no outcome, because their process died: perhaps paying them crashes it. They are under
 * suspicion until a call gets a definite answer.
 */
import type { Machine } from '../engine/machine.ts';

/** Outcomes that prove nothing: the provider has not said what becomes of the payment. */
const provesNothing: ReadonlySet<string> = new Set(['unknown', 'transient', 'rateLimited', 'blocked']);

export function createSuspects() {
  /** The machines that are calling for an invoice, or have died while they did. */
  const calling = new Map<string, Set<Machine>>();

  return {
    /** Returns what is called with the kind of the outcome. */
    called(machine: Machine, invoiceId: string): (kind: string) => void {
      const machines = calling.get(invoiceId) ?? new Set();
      calling.set(invoiceId, machines);
      machines.add(machine);
      return (kind) => {
        machines.delete(machine);
        if (!provesNothing.has(kind)) calling.delete(invoiceId);
      };
    },

    isSuspect: (invoiceId: string): boolean =>
      [...(calling.get(invoiceId) ?? [])].some(({ alive }) => !alive),

    clearAll: (): void => calling.clear(),

    /** A person decides, or a delivery has settled an answer. */
    clear: (invoiceId: string): boolean => calling.delete(invoiceId),
  };
}
