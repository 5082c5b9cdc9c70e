/** The ledger as Stripe's package shows it, as far as `npm run after-restore` reads it. Answers come at once. */
import type Stripe from 'stripe';
import { isGoneOrGoing, type LedgerPayment } from './ledger.ts';
import type { Provider } from './provider.ts';

interface Created {
  created?: { gte: number };
  payment_intent?: string;
}

export function stripeView({ payments }: Provider): Stripe {
  const all = () => [...payments.values()];
  const reversalsOf = (kind: 'refunds' | 'disputes', { created, payment_intent: of }: Created) =>
    all()
      .filter(({ id }) => of === undefined || id === of)
      .flatMap((payment) => payment[kind].map((one) => reversalView(payment, one)))
      .filter((one) => one.created >= (created?.gte ?? 0));
  const view = {
    paymentIntents: {
      list: ({ created }: Created) =>
        listOf(
          all()
            .map(intentView)
            .filter((one) => one.created >= (created?.gte ?? 0)),
        ),
      async retrieve(id: string) {
        const payment = payments.get(id);
        if (payment === undefined) throw new Error(`the ledger has no payment ${id}`);
        return intentView(payment);
      },
    },
    refunds: { list: (query: Created) => listOf(reversalsOf('refunds', query)) },
    disputes: { list: (query: Created) => listOf(reversalsOf('disputes', query)) },
  };
  return view as unknown as Stripe;
}

/** A page that is also all of them. */
function listOf<One>(data: One[]) {
  return {
    data,
    async *[Symbol.asyncIterator]() {
      yield* data;
    },
    autoPagingToArray: async () => data,
    then: (use: (page: { data: One[] }) => unknown) => Promise.resolve({ data }).then(use), // oxlint-disable-line unicorn/no-thenable
  };
}

function intentView({
  id,
  customerId,
  amountMinor,
  currency,
  invoiceId,
  deployment,
  createdAt,
  progress,
  ...more
}: LedgerPayment) {
  const refunded = more.refunds.filter(isGoneOrGoing).reduce((sum, one) => sum + one.amountMinor, 0);
  return {
    id,
    customer: customerId,
    amount: amountMinor,
    amount_received: progress.kind === 'succeeded' ? amountMinor : 0,
    currency: currency.toLowerCase(),
    metadata: {
      ...(invoiceId === undefined ? {} : { invoiceId }),
      ...(deployment === undefined ? {} : { deployment }),
    },
    created: Math.floor(createdAt / 1000),
    status: statusOf(progress),
    latest_charge: { amount_refunded: refunded, disputed: more.disputes.length > 0 },
  };
}

function statusOf(progress: LedgerPayment['progress']): string {
  switch (progress.kind) {
    case 'succeeded':
    case 'canceled':
      return progress.kind;
    case 'failed':
      return 'requires_payment_method';
    case 'alive':
      return progress.state;
  }
}

function reversalView(
  { id: of, currency }: LedgerPayment,
  one: LedgerPayment['refunds'][number] | LedgerPayment['disputes'][number],
) {
  const refundId = 'refundId' in one ? one.refundId : undefined;
  return {
    id: one.id,
    payment_intent: of,
    amount: one.amountMinor,
    currency: currency.toLowerCase(),
    status: one.status,
    created: Math.floor(one.at / 1000),
    reason: 'refundId' in one ? null : 'fraudulent',
    metadata: refundId === undefined ? {} : { refundId },
  };
}
