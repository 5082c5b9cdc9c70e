/** People who press buttons at bad moments: calls of the app's own ops API. */

import type { Orchestrations } from '../../../packages/jobs/src/runs/manualRun.ts';
import type { InvoiceStatus } from '../../../src/invoice/invoiceStatus.ts';
import type { OpsRequest } from '../../../src/ops/requests.ts';
import type { OperatorAction } from '../plan/faults.ts';
import type { World } from '../world/world.ts';
import type { Host } from './host.ts';

interface Call {
  params?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
}

async function* inOnePart(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A request as the host passes it. */
export function aRequest({ params = {}, body, headers = {} }: Call = {}): OpsRequest {
  const text = body === undefined ? '' : JSON.stringify(body);
  const given: Record<string, string> = { 'content-type': 'application/json', ...headers };
  return {
    params,
    query: [],
    headers: { get: (name) => given[name.toLowerCase()] ?? null },
    body: inOnePart(text),
  };
}

/** Statuses of the invoices that an action suits. Absent: the action prefers none. */
const suited: Readonly<Partial<Record<OperatorAction, readonly InvoiceStatus[]>>> = {
  retry: ['parked', 'declined'],
  retryNotCharged: ['parked'],
  retryMethod: ['parked', 'declined', 'pending'],
  refund: ['paid'],
  void: ['pending', 'parked', 'declined', 'processing'],
  followAdvice: ['parked', 'declined'],
};

/** The invoice that a person picks: one that the action suits, if there is one, and any other half of the time. */
export function pickInvoice(
  world: World,
  action: OperatorAction,
  { number, invoice }: { number: number; invoice: number },
): string {
  const statuses = suited[action] ?? [];
  const ids = [...world.invoices.values()]
    .filter(({ status }) => statuses.includes(status))
    .map(({ id }) => id);
  return (number % 2 === 0 ? undefined : ids[invoice % Math.max(1, ids.length)]) ?? `inv-${invoice}`;
}

/** Why the person with this number does something: no other says the same. */
export function reasonOf(number: number): string {
  return `reason ${number}`;
}

/** The calls that a reason names, in its order. A reason that names none leaves it to the person: another try. */
export function advisedBy(reason = ''): OperatorAction[] {
  const said = [
    ...reason.matchAll(
      /\b(retry|void) (?:it|the invoice)\b( with notCharged| with (?:another|a) paymentMethod)?/g,
    ),
  ];
  const advised = said.map(([, verb, how = '']): OperatorAction => {
    if (verb === 'void') return 'void';
    if (how.endsWith('paymentMethod')) return 'retryMethod';
    return how === '' ? 'retry' : 'retryNotCharged';
  });
  return advised.length === 0 ? ['retry'] : advised;
}

/** A refund of an invoice that somebody may have made by hand. */
function undecidedRefund(world: World, invoiceId: string) {
  const { refunds = [] } = world.invoices.get(invoiceId)?.reversals ?? {};
  return refunds.find(({ status, mayBe }) => status === 'requested' && mayBe !== undefined);
}

/**
 * Returns the call by which a person takes the action now, on the host that answers them; undefined if there
 * is nothing to take it on.
 */
export function press(
  world: World,
  host: Host,
  durable: Orchestrations,
  { action, invoiceId, number }: { action: OperatorAction; invoiceId: string; number: number },
): (() => Promise<unknown>) | undefined {
  const { ops } = host.app;
  const params = { id: invoiceId };
  const reason = reasonOf(number);
  const key = { 'idempotency-key': `key-${number}` };
  const runs = world.runs.all();
  switch (action) {
    case 'retry':
      return () => ops.retryInvoice(aRequest({ params, body: { reason } }));
    case 'retryNotCharged':
      return () => ops.retryInvoice(aRequest({ params, body: { reason, notCharged: true } }));
    case 'retryMethod':
      return () => ops.retryInvoice(aRequest({ params, body: { reason, paymentMethod: 'pm-other' } }));
    case 'void':
      return () => ops.voidInvoice(aRequest({ params, body: { reason } }));
    case 'refund': {
      const amount = number % 2 === 0 ? {} : { amountMinor: 100 };
      return () => ops.refundInvoice(aRequest({ params, headers: key, body: { reason, ...amount } }));
    }
    case 'moveDueDate': {
      // Somebody who wants it charged after all. From now on they no longer count on the void.
      if (world.invoices.get(invoiceId)?.status === 'voided') {
        world.voided.delete(invoiceId);
        return () => ops.undoVoid(aRequest({ params, body: { reason } }));
      }
      const dueAt = new Date(world.timeline.now + 600_000).toISOString();
      return () => ops.moveDueDate(aRequest({ params, body: { dueAt } }));
    }
    case 'redrive': {
      const id = world.parkedMessages()[0];
      return id === undefined ? undefined : () => ops.redriveOutbox(aRequest({ params: { id } }));
    }
    case 'redriveDeadLetters': {
      const ids = [
        ...world.queues.commands.deadLetters.map(({ id }) => id),
        ...world.poison.all().flatMap(({ id, status }) => (status === 'poison' ? [id] : [])),
      ];
      if (ids.length === 0) return undefined;
      return () => ops.redriveDeadLetters(aRequest({ body: { ids: ids.slice(0, 100) } }));
    }
    case 'release':
      return async () => {
        const held = await world.heldLocks();
        const lock = held[number % Math.max(1, held.length)];
        if (lock === undefined) return;
        const { key: lockKey, owner } = lock;
        await ops.releaseLock(aRequest({ body: { key: lockKey, expectedOwner: owner, reason } }));
      };
    case 'pause': {
      // Nobody forgets it for ever here: a fleet that is paused does not end.
      const until = new Date(world.timeline.now + 1_200_000).toISOString();
      return () => ops.pausePayments(aRequest({ body: { reason, until } }));
    }
    case 'resumePayments':
      return () => ops.resumePayments(aRequest(), durable);
    case 'followAdvice': {
      const { status, reason: said } = world.invoices.get(invoiceId) ?? {};
      if (status !== 'parked' && status !== 'declined') return undefined;
      const advised = advisedBy(said);
      const next = advised[number % advised.length] ?? 'retry';
      return press(world, host, durable, { action: next, invoiceId, number });
    }
    case 'bulkRetry':
    case 'bulkVoid': {
      const status = number % 2 === 0 ? 'parked' : 'declined';
      const body = { action: action === 'bulkRetry' ? 'retry' : 'void', filter: { status }, reason };
      return () => ops.startBulk(aRequest({ headers: key, body }), durable);
    }
    case 'bulkRedrive':
    case 'bulkDiscard': {
      const from = number % 2 === 0 ? 'outbox' : 'dead-letters';
      const body = { action: action === 'bulkRedrive' ? 'redrive' : 'discard', filter: { from }, reason };
      return () => ops.startBulk(aRequest({ headers: key, body }), durable);
    }
    case 'settleRefund': {
      const { id: refundId, mayBe: providerId } = undecidedRefund(world, invoiceId) ?? {};
      if (providerId === undefined) return undefined;
      const body = { refundId, providerId, isSame: number % 2 === 0, reason };
      return () => ops.settleRefund(aRequest({ params, body }));
    }
    case 'recount':
      return () => ops.recountFigures(aRequest({ body: { reason } }));
    case 'importAgain':
      return () => ops.importInvoices(aRequest({ body: world.imported }));
    case 'startRun':
      return () => ops.startRun(aRequest({ headers: key, body: { job: 'process-invoices' } }), durable);
    case 'cancelRun': {
      const run = runs.findLast(({ status }) => status === 'running');
      if (run === undefined) return undefined;
      return () => ops.cancelRun(aRequest({ params: { id: run.id } }), durable);
    }
    case 'resumeRun': {
      const run = runs.findLast(({ status }) => status === 'failed' || status === 'cancelled');
      if (run === undefined) return undefined;
      const body = { job: 'process-invoices', resume: run.id };
      return () => ops.startRun(aRequest({ headers: key, body }), durable);
    }
  }
}
