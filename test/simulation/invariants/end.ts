import type { OutboxEntry } from '../../../packages/jobs/src/outbox/outboxMessage.ts';
import { asShown } from '../../../packages/jobs/src/runs/runView.ts';
import { itemsOf, type WorkItem, workItemSchema } from '../../../packages/jobs/src/workItems/workItem.ts';
import { receiptName } from '../../../src/after/receipts.ts';
import { refundStageName } from '../../../src/after/record.ts';
import { invoiceStatuses } from '../../../src/invoice/invoiceStatus.ts';
import type { Reversals } from '../../../src/invoice/reversals.ts';
import type { Summary } from '../../../src/ops/answers/reportAnswers.ts';
import { metricPrefix } from '../../../src/platform/appMetrics.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import { effectKey } from '../../memory/memoryEffects.ts';
import {
  hasComeBack,
  holdsMoney,
  isGoneOrGoing,
  type LedgerPayment,
  mayHoldMoney,
  whoseIs,
} from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { type InvoiceDocument, lastDecision } from './steps.ts';
import type { Report } from './violation.ts';

export interface EndState {
  world: World;
  invoices: readonly InvoiceDocument[];
  messages: readonly (StoredDocument & OutboxEntry)[];
  summary: Summary;
  /** Messages of a newer release: how many it sent, and how many were still there for it. */
  newer: { sent: number; taken: number };
  /** True if notifications are sent. */
  notifies: boolean;
  /** True if the app hears of each event some day. */
  told: boolean;
  /** Nothing has gone wrong. */
  calm: boolean;
  /** The end (ms). */
  now: number;
}

/**
 * Claims per invoice, at most, while nothing goes wrong: what is claimed is paid in its time. At the slowest pace and with the
 * shortest claims 1.14 were measured; without room for claims, 1.8.
 */
const mostClaims = 1.2;

/** A timeline of a hundred entries loses its middle. What is left of it has so many, or a few less if they are long. */
const maybeCut = 30;

export function checkEnd(state: EndState, report: Report): void {
  const { world, invoices } = state;
  checkMessages(state, report);
  // One whose clock was ahead has given signs of life that are still to come.
  const running = world.runs
    .all()
    .filter(
      (run) => asShown(run, state.now).status === 'running' && Date.parse(run.heartbeatAt) <= state.now,
    );
  for (const { id, heartbeatAt } of running)
    report('runs end', `run ${id} is shown as running; its last sign of life was at ${heartbeatAt}`);
  for (const invoice of invoices) {
    checkOutcome(invoice, state, report);
    checkOthers(invoice, state, report);
    if (world.lostWork.has(invoice.id) || world.isRestored) continue;
    checkReceipts(invoice, state, report);
    if (state.notifies) checkNotifications(invoice, state, report);
  }
  checkReversals(state, report);
  if (state.calm) checkClaims(invoices, report);
  checkSummary(state, report);
}

/** Whatever waits for a person is in a metric that an alert looks at. */
export function checkAlerts({ world, invoices, messages }: Omit<EndState, 'summary'>, report: Report): void {
  const waiting = {
    'parked.waiting': [...invoices, ...messages].filter(({ status }) => status === 'parked').length,
    'work_item.poison_waiting': world.poison.all().filter(({ status }) => status === 'poison').length,
  };
  for (const { id, status, lastError } of messages)
    if (status === 'parked') report('outbox parks nothing', `${id}: ${lastError}`);
  for (const [name, count] of Object.entries(waiting)) {
    const gauge = world.gauges.get(name) ?? 0;
    if (gauge !== count)
      report('alert sees it', `${count} wait for a person, and ${metricPrefix}${name} says ${gauge}`);
  }
}

/** The ledger and the invoice agree, and what is open waits for a time or a person. */
function checkOutcome(invoice: InvoiceDocument, { world, told }: EndState, report: Report): void {
  const { id, status, reason } = invoice;
  const all = world.provider.paymentsOf(id);
  const moneyed = all.filter((one) => one.by === 'app' && holdsMoney(one));
  checkSecondPayments(moneyed, { ...invoice, told }, report);
  const [paid] = moneyed;
  // A person was asked when money had gone back, and it may have come back since: a dispute can be won.
  const wasTouched = paid !== undefined && paid.refunds.length + paid.disputes.length > 0;
  if (
    paid !== undefined &&
    status !== 'paid' &&
    !(status === 'parked' && (wasTouched || wasConfirmedAfterVoid(paid, invoice.timeline))) &&
    !(status === 'parked' && isUndoLost(world, invoice)) &&
    !isVoidedUntold(paid, { ...invoice, told })
  )
    report('paid means paid', `${paid.id} has succeeded, and it is ${status} (${reason})`, id);
  if (status === 'claimed' || status === 'processing') report('ends', `it is still ${status}`, id);
  if (status === 'pending') report('ends', `it is still pending, actionable at ${invoice.actionableAt}`, id);
}

/** Of those that hold money, all but one did so again after a person had had the invoice charged again; and it tells of them. */
export function checkSecondPayments(
  moneyed: readonly LedgerPayment[],
  {
    id,
    status,
    payment,
    timeline,
    told,
  }: Pick<InvoiceDocument, 'id' | 'status' | 'payment' | 'timeline'> & { told: boolean },
  report: Report,
): void {
  if (moneyed.length < 2) return;
  for (const other of moneyed.filter((one) => one.id !== payment.id)) {
    if (!hasComeBack(other))
      report('charged once', `${moneyed.map((one) => one.id).join(' and ')} both hold money`, id);
    else if (told && timeline.length < maybeCut && timeline.every((entry) => entry.paymentId !== other.id))
      report('second payments are seen', `the money of ${other.id} has come back, and it is ${status}`, id);
  }
}

/**
 * True if a person voided it while its payment had failed, and somebody with the payment's secret confirmed that afterwards. People
 * decide then: the app had not heard of the failure, and could not cancel the payment.
 */
function wasConfirmedAfterVoid(
  { confirmedAgainAt = 0 }: LedgerPayment,
  timeline: InvoiceDocument['timeline'],
): boolean {
  return timeline.some(({ what, at }) => what === 'voided' && Date.parse(at) < confirmedAgainAt);
}

/**
 * True if a person undid a void, and a restore has lost that: the payment that came after it waits for a person. `checkWaysOut` shows
 * that they can record it.
 */
function isUndoLost({ isRestored, journal }: World, { id, timeline }: InvoiceDocument): boolean {
  const isUndone = journal.lines.some(
    (line) => 'action' in line && line.action === 'undo void' && line.target === id,
  );
  return isRestored && isUndone && lastDecision({ timeline }) === 'voided';
}

/**
 * True if a person voided it after the provider had said that all of the money has gone back, and no event can say that some has
 * come back since.
 */
function isVoidedUntold(
  { amountMinor, refunds, disputes }: LedgerPayment,
  { status, timeline, told }: Pick<InvoiceDocument, 'status' | 'timeline'> & { told: boolean },
): boolean {
  const wasAsked = timeline.findLast(({ what }) => what === 'voided')?.check !== undefined;
  const gone = [...refunds, ...disputes].reduce((sum, one) => sum + one.amountMinor, 0);
  return status === 'voided' && !told && wasAsked && gone >= amountMinor;
}

/** Payments of others that the app was told of: the invoice names each, and is paid by it or by its own charge. */
function checkOthers(invoice: InvoiceDocument, { world, told }: EndState, report: Report): void {
  if (!told) return;
  const { id, status, payment, timeline } = invoice;
  const others = world.provider
    .paymentsOf(id)
    .filter((one) => one.by !== 'app' && one.id !== payment.id && holdsMoney(one));
  for (const other of others) {
    const entries = timeline.filter(({ paymentId }) => paymentId === other.id);
    const whose = whoseIs(other, invoice);
    // After-restore records the payments of lost events in the invoice; of a foreign one it only tells people.
    const isTold = whose === 'foreign' && world.printed.has(other.id);
    if (timeline.length < maybeCut && entries.length === 0 && !isTold)
      report('second payments are seen', `${other.id} by ${other.by} holds money, and it is ${status}`, id);
    const said = entries.filter(({ what }) => what === 'payment of somebody else');
    if (said.length > 1)
      report('second payments are seen', `it says ${said.length} times so of ${other.id}`, id);
    if (whose === 'ours' && status !== 'paid' && status !== 'parked')
      report('paid means paid', `${other.id} by ${other.by} has succeeded, and it is ${status}`, id);
  }
}

/** People have made the calls that end what is parked or declined. */
export function checkWaysOut({ world, invoices, told }: Omit<EndState, 'summary'>, report: Report): void {
  for (const invoice of invoices) {
    const { id, status, reason } = invoice;
    if (status === 'parked' || status === 'declined')
      report('has a way out', `it is still ${status}, after all that people can do: ${reason}`, id);
    const { refunds = [], refundedMinor = 0 } = invoice.reversals ?? {};
    for (const { id: refundId, status: its } of refunds)
      if (its === 'requested') report('has a way out', `refund ${refundId} is still requested`, id);
    const own = world.provider.payments.get(invoice.payment.id ?? '');
    const gone = own?.refunds.filter(isGoneOrGoing).reduce((sum, one) => sum + one.amountMinor, 0) ?? 0;
    if (told && gone !== refundedMinor)
      report('reversals are known', `${gone} went back, and ${refundedMinor} on the invoice`, id);
    const counts = ({ by }: LedgerPayment) => by === 'app' || told;
    const ours = world.provider
      .paymentsOf(id)
      .find((one) => counts(one) && mayHoldMoney(one) && whoseIs(one, invoice) === 'ours');
    if (ours !== undefined && status !== 'paid' && !isVoidedUntold(ours, { ...invoice, told }))
      report('paid means paid', `${ours.id} by ${ours.by} holds its money, and it is ${status}`, id);
  }
}

function checkClaims(invoices: readonly InvoiceDocument[], report: Report): void {
  const claims = invoices.flatMap(({ timeline }) => timeline.filter(({ what }) => what === 'claimed')).length;
  if (claims > Math.max(mostClaims * invoices.length, invoices.length + 1))
    report('claimed once', `${claims} claims of ${invoices.length} invoices`);
}

function checkReceipts(
  { id, status, payment, timeline }: InvoiceDocument,
  { world }: EndState,
  report: Report,
): void {
  const prefix = receiptName(id, '').replace(/\.json$/, '');
  const names = [...world.receipts.keys()].filter((name) => name.startsWith(prefix));
  const own = world.provider.paymentsOf(id).find((one) => one.id === payment.id);
  if (status !== 'paid') {
    if (names.length > 0) report('one receipt', `it is ${status} and has ${names.join(', ')}`, id);
    return;
  }
  // Money that has gone back before anybody learnt of the payment needs no receipt.
  const wasReversed = own !== undefined && (own.refunds.length > 0 || own.disputes.length > 0);
  const expected = [receiptName(id, payment.id ?? '')];
  if (names.join() !== expected.join() && !(wasReversed && names.length === 0))
    report(
      'one receipt',
      `expected ${expected[0]}, got ${names.join(', ') || 'none'} (${timeline.length})`,
      id,
    );
}

const announced = { paid: 'invoice.paid', declined: 'invoice.declined', parked: 'invoice.parked' } as const;

function checkNotifications(
  { id, timeline, payment }: InvoiceDocument,
  { world }: EndState,
  report: Report,
): void {
  if (timeline.length >= maybeCut) return;
  const own = world.provider.paymentsOf(id).find((one) => one.id === payment.id);
  const wasReversed = own !== undefined && (own.refunds.length > 0 || own.disputes.length > 0);
  for (const [what, type] of Object.entries(announced)) {
    // Events that after-restore finds once a queue was lost are not announced: they happened long ago.
    const ends = timeline.filter((entry) => entry.what === what && entry.by !== 'after-restore').length;
    const ids = new Set(
      world.notifications.filter((one) => one.invoiceId === id && one.type === type).map((one) => one.id),
    );
    if (ids.size === ends || (what === 'paid' && wasReversed && ids.size < ends)) continue;
    report('one notification', `${type}: ${ends} in its timeline, ${ids.size} announced`, id);
  }
}

/** Whatever was asked for has an end, and the invoice says what the provider does. */
function checkReversals(state: EndState, report: Report): void {
  const { world, invoices } = state;
  for (const { id, reversals, payment } of invoices) {
    const own = world.provider.payments.get(payment.id ?? '');
    if (own !== undefined && state.told) {
      const { refunds = [], disputes = [] } = reversals ?? {};
      const said = new Map<string, string>([
        ...refunds.map((one) => [one.providerId ?? '', one.status] as const),
        ...disputes.map((one) => [one.id, one.status] as const),
      ]);
      // One that came to nothing before the invoice was paid is nothing to tell of.
      for (const one of [...own.refunds, ...own.disputes])
        if (said.get(one.id) !== one.status && (said.has(one.id) || !cameToNothing(one)))
          report(
            'reversals are known',
            `${one.id} is ${one.status}, and ${said.get(one.id)} on the invoice`,
            id,
          );
    }
    // A person says something else each time.
    const reasons = (reversals?.refunds ?? []).flatMap(({ by, reason }) =>
      by === undefined ? [] : (reason ?? []),
    );
    const twice = reasons.find((reason, place) => reasons.indexOf(reason) !== place);
    if (twice !== undefined)
      report('refunded once', `"${twice}" was asked for once, and has two refunds`, id);
    for (const refund of reversals?.refunds ?? []) {
      const of = refund.paymentId === undefined ? own : world.provider.payments.get(refund.paymentId);
      const made = of?.refunds ?? [];
      const seen = made.find((one) => one.id === refund.providerId);
      const says = seen?.status ?? 'not there';
      const agrees = seen === undefined ? refund.status === 'failed' : refund.status === seen.status;
      // A person has been asked if it was made by hand.
      if (refund.mayBe !== undefined) continue;
      if (refund.status === 'requested' || (state.told && !agrees))
        report('refunded once', `refund ${refund.id} is ${refund.status}, at the provider ${says}`, id);
    }
  }
}

function cameToNothing({ status }: { status: string }): boolean {
  return status === 'failed' || status === 'canceled' || status === 'won';
}

function checkMessages({ world, invoices, messages, newer }: EndState, report: Report): void {
  if (newer.taken < newer.sent - world.lostOfNewer)
    report('nothing lost', `${newer.sent} messages of a newer release, ${newer.taken} left for it`);
  for (const { id, status, lastError, nextAttemptAt } of messages) {
    if (status === 'pending')
      report('outbox empties', `${id} is pending, next at ${nextAttemptAt}: ${lastError}`);
  }
  const { commands, workItems, poison } = world.queues;
  const kept = commands.messages().length + workItems.messages().length + poison.messages().length;
  if (kept > 0) report('nothing lost', `${kept} messages are left in the queues`);
  // A copy of what is done by now is no loss: a queue that takes copies and confirms none has many of them.
  const done = new Set(world.doneItems().map(effectKey));
  for (const text of world.lost)
    if (!workItemsOf(text).every((item) => item !== undefined && done.has(effectKey(item))))
      report('nothing lost', `dead for good: ${text}`);
  for (const { id, reason } of commands.deadLetters)
    report('nothing lost', `${id} is a dead letter: ${reason}`);
  for (const { id, text, reason } of world.poison.all().filter(({ status }) => status === 'poison')) {
    // The order has outlived the request, which a restored database has forgotten: a person decides.
    const isForgotten = world.isRestored && !isRequested(text, invoices);
    if (!isForgotten) report('nothing lost', `${id} is poison: ${reason}`);
  }
}

/** False for the order of a refund that its invoice knows nothing of. */
function isRequested(text: string, invoices: readonly InvoiceDocument[]): boolean {
  return workItemsOf(text).some((item) => {
    if (item?.stage !== refundStageName) return true;
    const { refundId } = item.input as { refundId: string };
    const { reversals } = invoices.find(({ id }) => id === item.resourceId) ?? {};
    return reversals?.refunds.some(({ id }) => id === refundId) === true;
  });
}

/** The work items of a message; undefined for what is none. */
function workItemsOf(text: string): (WorkItem | undefined)[] {
  const message: unknown = JSON.parse(text);
  return (itemsOf(message) ?? [message]).map((item) => workItemSchema.safeParse(item).data);
}

function checkSummary({ invoices, messages, summary }: EndState, report: Report): void {
  for (const status of invoiceStatuses) {
    const count = invoices.filter((invoice) => invoice.status === status).length;
    if (summary.invoices[status] !== count)
      report('summary counts', `${status}: ${count}, and the summary says ${summary.invoices[status]}`);
  }
  const charged = invoices.filter(({ payment }) => payment.id !== undefined).length;
  if (summary.charges !== charged)
    report('summary counts', `charges: ${charged}, and the summary says ${summary.charges}`);
  const { waiting, claimed } = summary.backlog;
  if (waiting !== 0 || claimed !== 0 || summary.staleClaims !== 0)
    report(
      'summary counts',
      `nothing is left to pay, and the summary says ${JSON.stringify(summary.backlog)} and ${summary.staleClaims} stale`,
    );
  const sums = summary.refunded
    .map(({ currency, amountMinor }) => `${currency} ${amountMinor}`)
    .toSorted()
    .join();
  const refunded = sumsOf(invoices);
  if (sums !== refunded) report('summary counts', `refunded: ${refunded}, and the summary says ${sums}`);
  const parked = messages.filter(({ status }) => status === 'parked').length;
  if (summary.outbox.parked !== parked)
    report('summary counts', `parked messages: ${parked}, and the summary says ${summary.outbox.parked}`);
}

/** Adds up what was refunded, or is about to be, by currency. */
function sumsOf(
  invoices: readonly (InvoiceDocument & { reversals?: Reversals; currency?: string })[],
): string {
  const sums = new Map<string, number>();
  for (const { currency = '', reversals } of invoices) {
    const { refundedMinor = 0 } = reversals ?? {};
    if (refundedMinor > 0) sums.set(currency, (sums.get(currency) ?? 0) + refundedMinor);
  }
  return [...sums]
    .map(([currency, sum]) => `${currency} ${sum}`)
    .toSorted()
    .join();
}
