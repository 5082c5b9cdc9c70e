/** Checks at every step: each write, each transaction that is sent, each charge. */

import { isSystemId } from '../../../packages/jobs/src/documents/storedDocuments.ts';
import type { InvoiceStatus } from '../../../src/invoice/invoiceStatus.ts';
import type { Reversals } from '../../../src/invoice/reversals.ts';
import { deploymentPartition } from '../../../src/invoice/shard.ts';
import { voidUndone } from '../../../src/invoice/timeline.ts';
import type { ChargeRequest, RefundRequest } from '../../../src/paying/paymentProvider.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import type { Machine } from '../engine/machine.ts';
import type { SentTransaction } from '../world/documents.ts';
import { hasComeBack, isTouched, type LedgerPayment, mayHoldMoney, whoseIs } from '../world/ledger.ts';
import type { TrustedUntil } from '../world/locks.ts';
import type { Provider } from '../world/provider.ts';
import { saysNeverCalled } from './neverCalled.ts';
import { checkMessageStep } from './outboxSteps.ts';
import type { Report } from './violation.ts';

/** As much of a stored invoice as is looked at. */
export interface InvoiceDocument extends StoredDocument {
  customerId: string;
  amountMinor: number;
  currency: string;
  dueAt: string;
  status: InvoiceStatus;
  actionableAt?: string;
  checkAt?: string;
  reason?: string;
  attempts?: number;
  claim?: {
    batchId: string;
    by: string;
    fence: number;
    attempt?: number;
    phase?: string;
    startedBy?: string;
  };
  payment: { keyNumber: number; id?: string; unknownSince?: string; inProgress?: { id: string } };
  reversals?: Reversals;
  timeline: {
    at: string;
    what: string;
    batchId?: string;
    settlement?: string;
    paymentId?: string;
    [more: string]: unknown;
  }[];
}

/** No import takes the id of a document of the app's own, or it could stand where the app is going to write. */
function checkId({ id, shard, type }: StoredDocument, report: Report): void {
  const imported = type === 'invoice' || type === 'tombstone';
  if (!imported && shard !== deploymentPartition && !isSystemId(id)) {
    report('own id', `${String(type)} ${id}: an import could take its id`);
  }
}

/** The latest entry that says that a person has voided it, or undone that. */
export function lastDecision(invoice: Pick<InvoiceDocument, 'timeline'> | undefined): string | undefined {
  return invoice?.timeline.findLast(({ what }) => what === 'voided' || what === voidUndone)?.what;
}

/** True if a person has voided it, and nobody has asked for another try since. */
function staysVoided(invoice: Pick<InvoiceDocument, 'timeline'> | undefined): boolean {
  const decided = ['voided', voidUndone, 'retried'];
  return invoice?.timeline.findLast(({ what }) => decided.includes(what))?.what === 'voided';
}

/** Furthest that a wall clock is set back at once (ms). */
const setBackMs = 2 * 3_600_000;

/** True if it was claimed hours before it was due, by the clock of the claimer, and nobody had asked for that. */
function isEarly({ dueAt, timeline }: InvoiceDocument): boolean {
  if (timeline.some(({ what }) => what === 'retried')) return false;
  const claimedAt = timeline.findLast(({ what }) => what === 'claimed')?.at ?? dueAt;
  // The clock may have been set back since it read what is due.
  return Date.parse(dueAt) > Date.parse(claimedAt) + setBackMs;
}

export function asInvoice(document: StoredDocument | undefined): InvoiceDocument | undefined {
  return document?.type === 'invoice' ? (document as InvoiceDocument) : undefined;
}

const next: Readonly<Record<InvoiceStatus, readonly InvoiceStatus[]>> = {
  // A look-up by an event may find the payment of one that waits for its next try.
  pending: ['pending', 'claimed', 'parked', 'voided', 'paid', 'processing'],
  claimed: ['claimed', 'pending', 'paid', 'declined', 'parked', 'processing'],
  processing: ['processing', 'paid', 'pending', 'declined', 'parked', 'voided'],
  parked: ['parked', 'pending', 'voided', 'paid', 'processing'],
  declined: ['declined', 'pending', 'voided', 'paid', 'processing', 'parked'],
  voided: ['voided', 'parked', 'pending'],
  paid: ['paid'],
};

const undecided: ReadonlySet<string> = new Set(['requested', 'pending', 'open']);

export type StepChecks = ReturnType<typeof createStepChecks>;

export function createStepChecks(parts: {
  report: Report;
  provider: () => Provider;
  invoice: (id: string) => InvoiceDocument | undefined;
  /** Without faults: nothing is claimed again. */
  calm: boolean;
  /**
   * True if calls have failed or were slow, other than those over the rate: then others may be retried later.
   */
  mayHoldBack: () => boolean;
  /** True if a person has made this refund by hand instead, for so long that the app must have seen it. */
  madeByHand: (refundId: string) => boolean;
  /** False for a copy of the database that lacks what was paid since its time: it is checked before it pays. */
  pays: () => boolean;
  /** True if a person was told that it is voided. */
  isVoided: (invoiceId: string) => boolean;
  /** A machine is going to send claims. */
  claiming: (machine: Machine) => void;
}) {
  const { report, invoice } = parts;
  const refunds = new Set<string>();

  return {
    wrote(document: StoredDocument, earlier: StoredDocument | undefined): void {
      const [fence, seen] = [Number(document.fence), Number(earlier?.fence ?? 0)];
      if (document.type === 'fence' && fence < seen)
        report('fence goes up', `${document.id} in ${document.shard}: ${seen} → ${fence}`);
      checkId(document, report);
      checkMessageStep(document, earlier, report);
      const after = asInvoice(document);
      if (after === undefined) return;
      times(after);
      const before = asInvoice(earlier);
      if (parts.pays()) money(after, before);
      if (before === undefined) return;
      if (!next[before.status].includes(after.status))
        report('legal change', `${before.status} → ${after.status}`, after.id);
      if (after.payment.keyNumber < before.payment.keyNumber)
        report('legal change', 'the number of its key goes down', after.id);
      for (const entry of newEntries(before, after)) written(before, after, entry);
      if (after.payment.keyNumber > before.payment.keyNumber) newKey(after);
    },

    /** Claims are sent only under a lease that their holder can still trust, by its own clock. */
    sent({ machine, operations }: SentTransaction, trustedUntil: TrustedUntil): void {
      const [first, ...rest] = operations;
      if (first?.kind !== 'patch' || !first.id.startsWith(':fence:') || rest.length === 0) return;
      const key = decodeURIComponent(first.id.slice(':fence:'.length).replaceAll('=', '%'));
      const until = trustedUntil(key);
      parts.claiming(machine);
      if (until === undefined || machine.clock.monotonic() >= until)
        report('stale write', `${machine.name} sends a claim under ${key}, which it can no longer trust`);
    },

    charging(request: ChargeRequest, others: readonly LedgerPayment[]): void {
      const { invoiceId, idempotencyKey } = request;
      const other = others.find((one) => isOfApp(one) && mayHoldMoney(one));
      if (other !== undefined)
        report(
          'charged once',
          `${idempotencyKey} is new to the provider, while ${other.id} of ${other.key} is ${other.progress.kind}`,
          invoiceId,
        );
      const stored = invoice(invoiceId);
      if (parts.isVoided(invoiceId) || staysVoided(stored))
        report(
          'a void holds',
          `${idempotencyKey} is charged, and a person has voided the invoice`,
          invoiceId,
        );
      if (stored !== undefined && isEarly(stored))
        report(
          'not before it is due',
          `${idempotencyKey} is charged, and it is due ${stored.dueAt}`,
          invoiceId,
        );
      for (const one of others) if (stored !== undefined) adviceIsSafe(stored, one);
      if (stored !== undefined && saysNeverCalled(stored))
        report(
          'call remembered',
          `${idempotencyKey} is charged, and it is ${stored.status}, as if never called`,
          invoiceId,
        );
      if (stored?.status === 'voided' || stored?.status === 'paid')
        report(
          'charged once',
          `${idempotencyKey} is charged, and the invoice is ${stored.status}`,
          invoiceId,
        );
    },

    /** The app cancels a payment that it has not made. */
    canceled(payment: LedgerPayment): void {
      leftAlone(payment, 'canceled');
    },

    refunding({ refundId, invoiceId }: RefundRequest, payment: LedgerPayment): void {
      leftAlone(payment, 'refunded');
      if (parts.madeByHand(refundId) && !hasWord(invoiceId, refundId))
        report('refunded once', `${refundId} is made, and a person has made it by hand`, invoiceId);
      if (refunds.has(refundId)) report('refunded once', `${refundId} is made a second time`, invoiceId);
      refunds.add(refundId);
    },
  };

  /**
   * An invoice that names a payment of its own is not charged while that may hold its money, but for a person's word. While it is
   * claimed nobody names a payment: one that is named after the latest claim may have been learned of while a slow call was in flight.
   */
  function adviceIsSafe({ id, timeline, ...content }: InvoiceDocument, other: LedgerPayment): void {
    if (isOfApp(other) || !mayHoldMoney(other)) return;
    const named = timeline.findIndex(({ paymentId }) => paymentId === other.id);
    const whose = whoseIs(other, content);
    const claimed = timeline.findLastIndex(({ what }) => what === 'claimed');
    if (named === -1 || named > claimed || whose === 'foreign') return;
    if (whose === 'unclear' && timeline.slice(named).some(({ notCharged }) => notCharged === true)) return;
    report('advice is safe', `it is charged, and names ${other.id}, which is ${other.progress.kind}`, id);
  }

  /** A person has said that it is to be made as well. */
  function hasWord(invoiceId: string, refundId: string): boolean {
    const { timeline = [] } = invoice(invoiceId) ?? {};
    return timeline.some((entry) => entry.refundId === refundId && entry.isSame === false);
  }

  function leftAlone(payment: LedgerPayment, how: string): void {
    const { invoiceId: id = '' } = payment;
    const stored = invoice(id);
    if (stored === undefined || whoseIs(payment, stored) !== 'foreign') return;
    report('others are left alone', `${payment.id} of ${payment.customerId} is ${how}`, id);
  }

  function times({ id, status, actionableAt, checkAt, reversals }: InvoiceDocument): void {
    const waits = status === 'pending' || status === 'claimed';
    if (waits !== (actionableAt !== undefined))
      report('has a time', `it is ${status} and actionableAt is ${actionableAt}`, id);
    // Refunds and disputes that are not decided are asked about, too.
    const { refunds = [], disputes = [] } = reversals ?? {};
    const open = [...refunds, ...disputes].some((one) => undecided.has(one.status));
    if ((status === 'processing' || (status === 'paid' && open)) !== (checkAt !== undefined))
      report('has a time', `it is ${status} and checkAt is ${checkAt}`, id);
  }

  /** Checks the invoice against the provider's payments. */
  function money(after: InvoiceDocument, before: InvoiceDocument | undefined): void {
    const { id, status, payment } = after;
    const all = parts.provider().paymentsOf(id);
    // Nobody can know of a payment of others before it is told.
    const made = all.filter(isOfApp);
    const alive = made.find(mayHoldMoney);
    switch (status) {
      case 'paid': {
        const own = all.find((one) => one.id === payment.id);
        if (own !== undefined && whoseIs(own, after) !== 'ours')
          report('others are left alone', `it is paid by ${own.id} of ${own.customerId}`, id);
        if (after.reversals?.payments?.some((one) => one.id === payment.id))
          report('paid means paid', `it is paid by ${payment.id}, which is a second payment, too`, id);
        if (own?.progress.kind !== 'succeeded')
          report('paid means paid', `it is paid by ${payment.id}, which is ${own?.progress.kind}`, id);
        return;
      }
      case 'declined':
        if (alive !== undefined)
          report('paid means paid', `it is declined, and ${alive.id} is ${alive.progress.kind}`, id);
        return;
      case 'voided':
        // A voided invoice is written again for other reasons, after the refund of its payment has failed.
        if (alive !== undefined && !(before?.status === 'voided' && hasComeBack(alive)))
          report('paid means paid', `it is voided, and ${alive.id} is ${alive.progress.kind}`, id);
        return;
      case 'processing':
        if (!all.some((one) => one.id === payment.inProgress?.id && whoseIs(one, after) === 'ours'))
          report('paid means paid', `it waits for ${payment.inProgress?.id}, which is none of its own`, id);
        return;
      case 'pending':
      case 'claimed': {
        const charged = made.find((one) => mayHoldMoney(one) && !isTouched(one));
        if (charged !== undefined && saysNeverCalled(after))
          report('call remembered', `it is ${status}, as if never called, and has ${charged.id}`, id);
        return;
      }
      case 'parked':
    }
  }

  function newKey({ id, payment, status, timeline }: InvoiceDocument): void {
    const alive = parts
      .provider()
      .paymentsOf(id)
      .filter((one) => isOfApp(one) && mayHoldMoney(one));
    for (const one of alive) {
      // A failed payment that somebody has confirmed meanwhile: it is parked with that one named, and a retry asks about it first.
      if (status === 'parked' && timeline.at(-1)?.paymentId === one.id) continue;
      report('key after decline', `key ${payment.keyNumber}, while ${one.id} is ${one.progress.kind}`, id);
    }
  }

  function written(
    before: InvoiceDocument,
    after: InvoiceDocument,
    { what, batchId, at, nextAt }: InvoiceDocument['timeline'][number],
  ): void {
    const { id } = after;
    if (what === 'claimed' && before.status !== 'pending')
      report('stale write', `it is claimed by ${batchId}, and was ${before.status}`, id);
    if (what === 'reclaimed') {
      if (before.status !== 'claimed' || (before.actionableAt ?? '') > at)
        report('stale write', `it is reclaimed, and its claim was not stale`, id);
      if (parts.calm) report('claimed once', `its claim went stale`, id);
    }
    // A key that starts over is due at once.
    const waits = String(nextAt) > at;
    if (what === 'retry: transient' && waits && !parts.mayHoldBack())
      report('no failure, no delay', 'it waits after a failure, and no call has failed', id);
    const settles = batchId !== undefined && what !== 'claimed' && what !== 'reclaimed';
    const parks = what === 'parked' && after.status === 'parked' && before.claim?.batchId !== batchId;
    if (settles && !parks && before.claim?.batchId !== batchId)
      report('stale write', `${what} by ${batchId}, whose claim it has lost`, id);
  }
}

/** The entries that a write has added. A long timeline loses its middle with the write that adds to it. */
function newEntries(before: InvoiceDocument, after: InvoiceDocument): InvoiceDocument['timeline'] {
  if (after.timeline.length > before.timeline.length) return after.timeline.slice(before.timeline.length);
  const [last, latest] = [before.timeline.at(-1), after.timeline.at(-1)];
  return latest === undefined || JSON.stringify(last) === JSON.stringify(latest) ? [] : [latest];
}

function isOfApp({ by }: LedgerPayment): boolean {
  return by === 'app';
}
