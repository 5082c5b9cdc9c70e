import { z } from 'zod';
import type { Answer } from './api.ts';
import { disputeStatuses } from './dispute.ts';
import type { createDisputes } from './disputes.ts';
import type { Faults } from './faults.ts';
import type { Stats } from './stats.ts';
import type { Store } from './store/index.ts';
import { type Webhook, webhookTarget } from './webhook.ts';

export interface LocalParts {
  store: Store;
  faults: Faults;
  stats: Stats;
  disputes: ReturnType<typeof createDisputes>;
  webhook: Webhook;
  now: () => number;
  /** Moves the clock, and settles what has become due. */
  advance: (ms: number) => void;
  settle: () => void;
  changed: () => void;
}

const advancement = z.strictObject({ advanceMs: z.int().min(0) });
const newDispute = z.strictObject({
  paymentIntent: z.string(),
  /** Stripe's reasons: https://docs.stripe.com/api/disputes/object#dispute_object-reason. */
  reason: z.string().default('fraudulent'),
  amount: z.int().min(1).optional(),
  inquiry: z.boolean().default(false),
});
const movedDispute = z.strictObject({ status: z.enum(disputeStatuses) });

/** Everything under `/_local/`: lets tests inspect the stand-in, move its time and inject faults, without a key. */
export function createLocalEndpoints(parts: LocalParts) {
  const { store, faults, stats, disputes, webhook, now } = parts;

  function openDispute(body: unknown): Answer {
    const { paymentIntent, ...wanted } = newDispute.parse(body);
    const intent = store.intents.get(paymentIntent);
    const charge = store.charges.get(String(intent?.latest_charge));
    if (charge?.status !== 'succeeded') return problem(`No charge of '${paymentIntent}' has succeeded.`);
    const { amount, ...rest } = wanted;
    const opens = amount === undefined ? rest : { ...rest, amount };
    return json(
      201,
      store.transaction(() => disputes.open(charge, opens, moment())),
    );
  }

  function moveDispute(id: string, body: unknown): Answer {
    const { status } = movedDispute.parse(body);
    const dispute = store.disputes.get(id);
    if (dispute === undefined) return problem(`No such dispute: '${id}'.`, 404);
    if (disputes.isClosed(dispute)) return problem(`The dispute is ${dispute.status} already.`);
    return json(
      200,
      store.transaction(() => disputes.move(dispute, status, moment())),
    );
  }

  const moment = () => ({ at: now(), requestId: null, idempotencyKey: null });

  /** One row per refund, oldest first. */
  const refundRows = () =>
    store.refunds
      .list()
      .toReversed()
      .map(({ id, payment_intent: paymentIntent, amount, currency, status, created }) => ({
        id,
        invoiceId: store.intents.get(paymentIntent)?.metadata.invoiceId ?? null,
        paymentIntent,
        amount,
        currency,
        status,
        idempotencyKey: store.refunds.keyOf(id),
        createdAt: new Date(created * 1000).toISOString(),
      }));

  const clock = () => json(200, { now: new Date(now()).toISOString() });

  function route(method: string, path: string, body: () => unknown): Answer {
    switch (`${method} ${path}`) {
      case 'GET /_local/charges':
        return text(200, store.ledger.json());
      case 'GET /_local/refunds':
        return json(200, refundRows());
      case 'GET /_local/disputes':
        return json(200, store.disputes.list().toReversed());
      case 'POST /_local/disputes':
        return openDispute(body());
      case 'GET /_local/clock':
        return clock();
      case 'POST /_local/clock':
        parts.advance(advancement.parse(body()).advanceMs);
        return clock();
      case 'GET /_local/webhook':
        return json(200, webhook.target());
      case 'POST /_local/webhook':
        webhook.setTarget(webhookTarget.parse(body()));
        return json(200, webhook.target());
      case 'DELETE /_local/webhook':
        webhook.setTarget(null);
        return text(204, '');
      case 'GET /_local/stats':
        return json(200, { ...stats.current(), charges: store.ledger.count() });
      case 'DELETE /_local/stats':
        stats.reset();
        return text(204, '');
      case 'GET /_local/faults':
        return json(200, faults.list());
      case 'POST /_local/faults':
        return json(201, faults.arm(body()));
      case 'DELETE /_local/faults':
        faults.clear();
        return text(204, '');
      default: {
        const [, id] = /^\/_local\/disputes\/([^/]+)$/.exec(path) ?? [];
        if (method === 'POST' && id !== undefined) return moveDispute(id, body());
        return problem(`Unknown endpoint: ${method} ${path}.`, 404);
      }
    }
  }

  return function answer(method: string, path: string, body: string): Answer {
    parts.settle();
    try {
      return route(method, path, () => JSON.parse(body));
    } catch (error) {
      if (error instanceof z.ZodError) return problem(z.prettifyError(error));
      if (error instanceof SyntaxError) return problem(error.message);
      throw error;
    } finally {
      parts.changed();
    }
  };
}

const problem = (error: string, status = 400): Answer => json(status, { error });
const json = (status: number, value: unknown): Answer => text(status, JSON.stringify(value));
const text = (status: number, body: string): Answer => ({ kind: 'answer', status, body, headers: {} });
