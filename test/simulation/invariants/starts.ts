/**
 * Starts of calls that were never made. A start that stands counts as a call, which may have charged: the invoice is tried
 * apart, looked up, and parked in the end. So a delivery returns what it has not called, unless its process dies first or
 * the store gives no answer.
 */
import type { Operation, Patch } from '../../../packages/jobs/src/documents/documentStore.ts';
import { type Activity, activity } from '../fleet/activity.ts';
import type { InvoiceDocument } from './steps.ts';
import type { Report } from './violation.ts';

/** Record of the calls of one delivery for one invoice since it sent its start. */
export interface StartOfCalls {
  startId: string;
  /** The attempt that a start makes it that calls again. */
  attempt: number | undefined;
  /** The call was sent. */
  called: boolean;
  /** Something was sent that ends the start: a settlement, or what takes it back. */
  isEnding: boolean;
  /** The store has given no answer to its end: a fault explains that it stands. */
  isUnclear: boolean;
}

export type StartChecks = ReturnType<typeof createStartChecks>;

export function createStartChecks(report: Report, invoice: (id: string) => InvoiceDocument | undefined) {
  /** Invoices that nobody can know to be never called. */
  const mayBeCalled = new Set<string>();
  /** Calls that the provider may have worked on, by invoice. */
  const calls = new Map<string, number>();
  /** Starts of functions that have not ended, by invoice: their process has died, or they are in flight. */
  const open = new Map<string, number>();

  function count(id: string, by: number): void {
    open.set(id, (open.get(id) ?? 0) + by);
  }

  return {
    /** The function that runs sends a transaction. */
    sending(operations: readonly Operation[]): void {
      const { starts } = activity() ?? {};
      for (const operation of operations) {
        if (operation.kind !== 'patch') continue;
        const before = starts?.get(operation.id);
        const begun = startIn(operation);
        // One that is sent again may have been applied the first time.
        if (begun !== undefined && begun.startId !== before?.startId) {
          starts?.set(operation.id, begun);
          if (before === undefined) count(operation.id, 1);
        } else if (begun === undefined && before !== undefined) before.isEnding = true;
      }
    },

    /** It got no answer to a transaction that writes these documents, or when it read them. */
    unanswered(ids: readonly string[]): void {
      for (const [id, start] of activity()?.starts ?? []) {
        // A settlement begins with the figures of its shard.
        const isOfAll = ids.some((one) => invoice(one) === undefined);
        if (isOfAll || (start.isEnding && ids.includes(id))) start.isUnclear = true;
      }
    },

    /** It calls the provider. */
    called(invoiceId: string): void {
      calls.set(invoiceId, (calls.get(invoiceId) ?? 0) + 1);
      const start = activity()?.starts.get(invoiceId);
      if (start !== undefined) start.called = true;
    },

    /** The provider has refused the call, because there are too many. */
    turnedAway(invoiceId: string): void {
      calls.set(invoiceId, (calls.get(invoiceId) ?? 0) - 1);
    },

    /** A function has ended, and its process lives. */
    ended({ starts, machine }: Activity): void {
      for (const [id, start] of starts) {
        count(id, -1);
        if (start.isUnclear) mayBeCalled.add(id);
        if (!start.called && !start.isUnclear && stands(start, invoice(id)))
          report('start given back', `${machine.name} has started its calls, made none and goes on`, id);
      }
    },

    /** An instance with a fast clock makes a claim again while its calls are still to be made. */
    wrote({ id, claim }: InvoiceDocument, before: InvoiceDocument | undefined): void {
      const was = before?.claim;
      const isTaken = was?.phase === 'calling' && claim !== undefined && claim.batchId !== was.batchId;
      if (isTaken && (open.get(id) ?? 0) > 0) mayBeCalled.add(id);
    },

    /** Everything has ended. */
    atEnd(invoices: readonly InvoiceDocument[]): void {
      for (const { id, status, reason, timeline } of invoices) {
        // A payment that somebody else has made is for a person, too.
        if (timeline.findLast(({ what }) => what === 'parked')?.paymentId !== undefined) continue;
        // The same, found by a look-up. It may have failed since.
        if (reason?.startsWith('payment ') && reason.includes(' names this invoice with ')) continue;
        const isCalled = mayBeCalled.has(id) || (calls.get(id) ?? 0) > 0 || (open.get(id) ?? 0) > 0;
        if (status === 'parked' && !isCalled) report('unclear only if called', `it is parked: ${reason}`, id);
      }
    },
  };
}

function startIn({ set }: Patch): StartOfCalls | undefined {
  const startId = set?.['claim.startedBy'];
  if (typeof startId !== 'string') return undefined;
  const attempt = set?.['claim.attempt'];
  return {
    startId,
    attempt: typeof attempt === 'number' ? attempt : undefined,
    called: false,
    isEnding: false,
    isUnclear: false,
  };
}

function stands({ startId, attempt }: StartOfCalls, stored: InvoiceDocument | undefined): boolean {
  const claim = stored?.claim;
  if (claim?.startedBy !== startId || claim.phase !== 'calling') return false;
  return attempt === undefined || claim.attempt === attempt;
}
