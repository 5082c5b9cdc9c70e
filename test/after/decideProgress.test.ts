import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { goneBackNote } from '../../src/after/checkProvider.ts';
import { decideProgress } from '../../src/after/decideProgress.ts';
import { reportEntriesOf } from '../../src/invoice/counters/counters.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { noReversals } from '../../src/paying/mergeReversals.ts';
import { defaultSettlementPolicy as policy } from '../../src/paying/payingPolicy.ts';
import type {
  PaymentProgress,
  ProviderPayment,
  ProviderReversals,
} from '../../src/paying/paymentProvider.ts';
import { anInvoice } from '../support/anInvoice.ts';

const at = '2026-01-05T12:00:00.000Z';
const now = Date.parse(at);
const day = 24 * 3600 * 1000;
const key = {
  keyNumber: 1,
  keyCreatedAt: '2026-01-01T12:00:00.000Z',
  paramsHash: '2.h',
  declines: 0,
  deferrals: 0,
};
const inProgress = { id: 'pi_1', state: 'processing', since: '2026-01-01T12:00:01.000Z', checks: 3 };
const processing = anInvoice({ status: 'processing', checkAt: at, payment: { ...key, inProgress } });
const paid = anInvoice({ status: 'paid', payment: { ...key, id: 'pi_1', paidAt: at } });

const seen = (progress: PaymentProgress, reversals: ProviderReversals = noReversals): ProviderPayment => ({
  kind: 'payment',
  paymentId: 'pi_1',
  madeBy: 'us',
  invoiceId: 'inv-1',
  customerId: anInvoice().customerId,
  amountMinor: anInvoice().amountMinor,
  currency: anInvoice().currency,
  progress,
  reversals,
});
const ofShop = (progress: PaymentProgress): ProviderPayment => {
  const { madeBy: _, ...rest } = seen(progress);
  return rest;
};
const refund = (status: 'pending' | 'succeeded' | 'failed' | 'canceled') => ({
  refunds: [{ providerId: 're_1', amountMinor: 500, status, at }],
  disputes: [],
});
const dispute = (status: 'open' | 'won' | 'lost') => ({
  refunds: [],
  disputes: [{ id: 'dp_1', amountMinor: 1999, status, at, reason: 'fraudulent' }],
});
/** The decision, whose ends are none if it names none. */
function decide(invoice: Invoice, payment: ProviderPayment) {
  const decision = decideProgress(invoice, payment, policy, now);
  return decision.kind === 'change' ? { ...decision, ends: decision.ends ?? [] } : decision;
}

describe('a payment in progress', () => {
  test('succeeds: the invoice is paid, and its receipt follows', () => {
    expect(decide(processing, seen({ kind: 'succeeded' }))).toEqual({
      kind: 'change',
      change: {
        set: { status: 'paid', payment: { ...key, id: 'pi_1', paidAt: at } },
        clear: ['checkAt', 'reason'],
      },
      entry: { what: 'paid', paymentId: 'pi_1' },
      others: [],
      ends: [{ kind: 'paid', paymentId: 'pi_1', paidAt: at }],
    });
  });

  test('has been refunded when its success is seen: paid, and both are announced', () => {
    const decision = decide(processing, seen({ kind: 'succeeded' }, refund('succeeded')));
    expect(decision).toMatchObject({
      change: { set: { status: 'paid', reversals: { refundedMinor: 500 } } },
      ends: [{ kind: 'paid' }, { kind: 'refunded', reversalId: 're_1', reversedMinor: 500 }],
    });
  });

  test('brought another amount than the invoice has: it is not paid, and a person decides', () => {
    const part = decide(processing, { ...ofShop({ kind: 'succeeded' }), amountMinor: 1 });
    const reason = expect.stringContaining('names this invoice with 1 USD, not 1999 USD');
    expect(part).toEqual({
      kind: 'change',
      change: { set: { status: 'parked', reason, payment: key }, clear: ['checkAt', 'reversals'] },
      entry: { what: 'parked', reason, paymentId: 'pi_1' },
      ends: [{ kind: 'parked', reason, unknown: false }],
    });
  });

  test.each([
    ['a refund that failed', refund('failed'), ['paid', 'refundFailed']],
    ['a dispute that was won', dispute('won'), ['paid']],
  ])('has %s when its success is seen: the money is there, and its receipt follows', (_, reversals, ends) => {
    const decision = decide(processing, seen({ kind: 'succeeded' }, reversals));
    expect(decision.kind === 'change' && decision.ends.map(({ kind }) => kind)).toEqual(ends);
  });

  test.each<PaymentProgress>([
    { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' },
    { kind: 'failed', severity: 'hard', code: 'account_closed', message: 'closed' },
    { kind: 'canceled' },
  ])('of a shop that comes to nothing is none: our key waits a day, and for the due date: %o', (progress) => {
    const fresh = { keyNumber: 1, declines: 0, deferrals: 0 };
    const followed = { ...processing, payment: { ...fresh, inProgress } };
    for (const [dueAt, actionableAt] of [
      ['2026-01-01T00:00:00.000Z', '2026-01-06T12:00:00.000Z'],
      ['2026-02-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ] as const) {
      const decision = decide({ ...followed, dueAt }, ofShop(progress));
      expect(decision).toMatchObject({
        change: { set: { status: 'pending', payment: fresh, attempts: 0, actionableAt } },
        ends: [],
      });
    }
  });

  test.each([
    ['turned up after a void', ['voided', 'parked', 'processing'], seen],
    ['is a shop’s, after a call of ours', ['parked', 'processing'], ofShop],
  ] as const)('that %s and comes to nothing is for a person', (_, whats, of) => {
    const timeline = whats.map((what) => ({ at, by: 'ada', what }));
    const soft = { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' } as const;
    const decision = decide({ ...processing, timeline }, of(soft));
    expect(decision).toMatchObject({
      change: { set: { status: 'parked', payment: key }, clear: ['checkAt', 'reversals'] },
      entry: { what: 'parked', paymentId: 'pi_1' },
      ends: [{ kind: 'parked' }],
    });
  });

  test('of a shop that has failed once and succeeded since still counts when another one fails', () => {
    const hard = { kind: 'failed', severity: 'hard', code: 'account_closed', message: 'closed' } as const;
    const timeline = [
      { at, by: 'host-a', what: 'retry: declined', paymentId: 'pi_shop' },
      { at, by: 'host-a', what: 'second payment', paymentId: 'pi_shop' },
    ];
    expect(decide({ ...processing, timeline }, seen(hard))).toMatchObject({
      change: { set: { status: 'parked' } },
      entry: { paymentId: 'pi_shop' },
      others: ['pi_shop'],
    });
  });

  test('fails softly: the next key, on the schedule of declines', () => {
    const failed = { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' } as const;
    expect(decide(processing, seen(failed))).toMatchObject({
      change: {
        set: {
          status: 'pending',
          payment: { keyNumber: 2, declines: 1, deferrals: 0 },
          attempts: 0,
          actionableAt: new Date(now + day).toISOString(),
        },
        clear: ['checkAt', 'reversals'],
      },
      ends: [],
    });
  });

  test.each<PaymentProgress>([
    { kind: 'failed', severity: 'hard', code: 'account_closed', message: 'closed' },
    { kind: 'canceled' },
  ])('ends for good: %o', (progress) => {
    expect(decide(processing, seen(progress))).toMatchObject({
      change: { set: { status: 'declined', declinedAt: at, payment: key }, clear: ['checkAt', 'reversals'] },
      ends: [{ kind: 'declined' }],
    });
  });

  test('is still alive at a check: the next check, and nothing else', () => {
    expect(decide(processing, seen({ kind: 'alive', state: 'processing' }))).toMatchObject({
      change: {
        set: {
          payment: { ...key, inProgress: { ...inProgress, checks: 4 } },
          checkAt: new Date(now + 3_600_000).toISOString(),
        },
      },
      ends: [],
    });
  });

  test('is still alive when an event says so: its check stays where it was', () => {
    const later = { ...processing, checkAt: '2026-01-05T13:00:00.000Z' };
    expect(decide(later, seen({ kind: 'alive', state: 'processing' }))).toEqual({ kind: 'nothing' });
    const captured = decide(later, seen({ kind: 'alive', state: 'requires_capture' }));
    expect(captured).toMatchObject({ change: { set: { payment: { inProgress: { checks: 3 } } } } });
    expect(captured).not.toHaveProperty('change.set.checkAt');
  });

  test.each([
    ['parked', 'parked'],
    ['second payment', 'parked'],
    ['payment of somebody else', 'pending'],
    ['looked up', 'pending'],
    ['declined', 'pending'],
  ])('fails, and the timeline names another payment as "%s": it is %s', (what, status) => {
    const named = { ...processing, timeline: [{ at, what, by: 'host-1', paymentId: 'pi_2' }] };
    const failed = { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' } as const;
    expect(decide(named, seen(failed))).toMatchObject({ change: { set: { status } } });
  });

  test('is not moved by another payment', () => {
    const another = decide(processing, { ...seen({ kind: 'succeeded' }), paymentId: 'pi_2' });
    expect(another).toMatchObject({
      change: { set: { reversals: { payments: [{ id: 'pi_2', amountMinor: 1999 }] } } },
      entry: { what: 'second payment' },
    });
    expect(another).not.toHaveProperty('change.set.status');
    expect(another).not.toHaveProperty('change.set.checkAt');
    expect(another).not.toHaveProperty('change.clear');
  });

  test('ends without money after another payment was seen: no next key, because that one may hold money', () => {
    const seenBefore = afterwards(
      processing,
      decide(processing, { ...seen({ kind: 'succeeded' }), paymentId: 'pi_2' }),
    );
    const failed = { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' } as const;
    expect(decide(seenBefore, seen(failed))).toMatchObject({
      change: {
        set: {
          status: 'parked',
          reason: expect.stringMatching(/pi_1 has ended, but payment pi_2 .* retry it/),
          payment: { keyNumber: 2 },
        },
        // Nobody asks about the refunds of its second payment while it is parked.
        clear: ['checkAt', 'reversals'],
      },
      ends: [{ kind: 'parked' }],
    });
    const goneBack = afterwards(
      seenBefore,
      decide(seenBefore, { ...seen({ kind: 'succeeded' }, dispute('lost')), paymentId: 'pi_2' }),
    );
    expect(decide(goneBack, seen(failed))).toMatchObject({ change: { set: { status: 'pending' } } });
  });
});

describe('a paid invoice', () => {
  test('gets its refunds, and each that is done is told once', () => {
    const pending = decide(paid, seen({ kind: 'succeeded' }, refund('pending')));
    expect(pending).toMatchObject({ change: { set: { reversals: { refundedMinor: 500 } } }, ends: [] });
    const recorded = afterwards(paid, pending);
    const done = decide(recorded, seen({ kind: 'succeeded' }, refund('succeeded')));
    expect(done).toMatchObject({ ends: [{ kind: 'refunded', reversalId: 're_1' }] });
    const failed = decide(recorded, seen({ kind: 'succeeded' }, refund('failed')));
    expect(failed).toMatchObject({
      change: { set: { reversals: { refundedMinor: 0 } } },
      ends: [{ kind: 'refundFailed', reversalId: 're_1' }],
    });
    expect(decide(recorded, seen({ kind: 'succeeded' }, refund('canceled')))).toMatchObject({
      change: { set: { reversals: { refundedMinor: 0 } } },
      ends: [{ kind: 'refundFailed', reversalId: 're_1', reason: 'canceled' }],
    });
  });

  test('tells of a dispute that is opened, and of one that is lost', () => {
    const opened = decide(paid, seen({ kind: 'succeeded' }, dispute('open')));
    expect(opened).toMatchObject({ ends: [{ kind: 'disputed', reason: 'fraudulent' }] });
    const recorded = afterwards(paid, opened);
    const succeeded = { kind: 'succeeded' } as const;
    expect(decide(recorded, seen(succeeded, dispute('lost')))).toMatchObject({
      change: { set: { reversals: { disputedMinor: 1999 } } },
      ends: [{ kind: 'disputeLost' }],
    });
    expect(decide(recorded, seen(succeeded, dispute('won')))).toMatchObject({
      change: { set: { reversals: { disputedMinor: 0 } } },
      ends: [],
    });
  });
});

describe('a second payment of a paid invoice', () => {
  const second = { ...seen({ kind: 'succeeded' }), paymentId: 'pi_2' };
  const noted = decide(paid, second);

  test('is recorded once, and the invoice stays paid by the first', () => {
    expect(noted).toMatchObject({
      kind: 'change',
      change: {
        set: {
          reversals: { payments: [{ id: 'pi_2', amountMinor: 1999, at }], refundedMinor: 0 },
        },
      },
      entry: { what: 'second payment', paymentId: 'pi_2', state: 'succeeded' },
      ends: [],
    });
    expect(noted).not.toHaveProperty('change.set.status');
    expect(decide(afterwards(paid, noted), second)).toEqual({ kind: 'nothing' });
  });

  test('in another currency has its refunds and disputes in that one', () => {
    const inEuro = { ...second, currency: 'EUR' };
    const recorded = afterwards(paid, decide(paid, inEuro));
    for (const reversals of [refund('succeeded'), dispute('open')]) {
      const [one] = [...reversals.refunds, ...reversals.disputes];
      const change = decide(recorded, { ...inEuro, reversals });
      const kind = reversals.refunds.length > 0 ? 'refunds' : 'disputes';
      expect(change).toHaveProperty(`change.set.reversals.${kind}`, [
        expect.objectContaining({ amountMinor: one?.amountMinor, paymentId: 'pi_2', currency: 'EUR' }),
      ]);
      expect(change).toHaveProperty('ends.0.reversedCurrency', 'EUR');
    }
    const inUsd = decide(afterwards(paid, noted), { ...second, reversals: refund('succeeded') });
    expect(inUsd).not.toHaveProperty('change.set.reversals.refunds.0.currency');
  });

  test('has its refunds and disputes recorded and told, and none of them counts against the first', () => {
    const recorded = afterwards(paid, noted);
    const opened = decide(recorded, { ...second, reversals: dispute('open') });
    expect(opened).toMatchObject({
      change: { set: { reversals: { disputes: [{ id: 'dp_1', paymentId: 'pi_2' }], disputedMinor: 0 } } },
      ends: [{ kind: 'disputed', paymentId: 'pi_2', reversedMinor: 1999 }],
    });
    expect(opened).toHaveProperty('change.set.checkAt');
    const lost = decide(afterwards(recorded, opened), { ...second, reversals: dispute('lost') });
    expect(lost).toMatchObject({ ends: [{ kind: 'disputeLost', paymentId: 'pi_2' }] });
    const refunded = decide(recorded, { ...second, reversals: refund('succeeded') });
    expect(refunded).toMatchObject({
      change: { set: { reversals: { refunds: [{ id: 're_1', paymentId: 'pi_2' }], refundedMinor: 0 } } },
      ends: [{ kind: 'refunded', paymentId: 'pi_2' }],
    });
    const entries = reportEntriesOf(afterwards(recorded, refunded));
    expect(entries.map(({ kind, amountMinor }) => [kind, amountMinor])).toEqual([
      ['paid', 1999],
      ['paid', 1999],
      ['refunded', 500],
    ]);
  });

  test('becomes the payment of its invoice if the first comes to nothing: its refunds count from then on', () => {
    const recorded = afterwards(
      processing,
      decide(processing, { ...second, reversals: refund('succeeded') }),
    );
    const parked = { ...recorded, status: 'parked' as const };
    const own = decide(parked, { ...second, reversals: refund('succeeded') });
    expect(own).toMatchObject({
      change: { set: { status: 'paid', payment: { id: 'pi_2' }, reversals: { refundedMinor: 500 } } },
    });
    expect(own).not.toHaveProperty('change.set.reversals.payments');
    expect(own).not.toHaveProperty('change.set.reversals.refunds.0.paymentId');
  });

  test.each<Partial<ProviderPayment>>([
    { progress: { kind: 'canceled' } },
    { progress: { kind: 'failed', severity: 'hard', code: 'account_closed', message: 'closed' } },
    {
      reversals: {
        refunds: [{ providerId: 're_1', amountMinor: 1999, status: 'succeeded', at }],
        disputes: [],
      },
    },
  ])('that moved no money, or gave it back, is none: %o', (changes) => {
    expect(decide(paid, { ...second, ...changes })).toEqual({ kind: 'nothing' });
  });
});

describe('a payment that its invoice knows nothing of', () => {
  const open = ['pending', 'parked', 'declined'] as const;
  const unpaid = (status: (typeof open)[number] | 'voided' | 'claimed') =>
    anInvoice({ status, payment: key });
  const shop = { ...seen({ kind: 'succeeded' }), paymentId: 'pi_2' };

  test('waits for the settlement of a claimed invoice', () => {
    expect(decide(unpaid('claimed'), shop)).toEqual({ kind: 'unsettled' });
    expect(decide(unpaid('claimed'), seen({ kind: 'canceled' }))).toEqual({ kind: 'nothing' });
  });

  test.each(open)('pays an invoice that is %s', (status) => {
    expect(decide(unpaid(status), shop)).toMatchObject({
      change: { set: { status: 'paid', payment: { id: 'pi_2' } } },
      ends: [{ kind: 'paid', paymentId: 'pi_2' }],
    });
    expect(decide(unpaid(status), seen({ kind: 'alive', state: 'processing' }))).toMatchObject({
      change: { set: { status: 'processing', payment: { inProgress: { id: 'pi_1' } } } },
    });
    expect(decide(unpaid(status), seen({ kind: 'canceled' }))).toEqual({ kind: 'nothing' });
  });

  test.each(open)('of which some has gone back: an invoice that is %s is paid, with its refund', (status) => {
    const part = seen({ kind: 'succeeded' }, refund('succeeded'));
    expect(decide(unpaid(status), part)).toMatchObject({
      change: { set: { status: 'paid', reversals: { refundedMinor: 500 } } },
      ends: [{ kind: 'paid' }, { kind: 'refunded' }],
    });
  });

  test.each(open)('that has gone back in full leaves an invoice that is %s as it is', (status) => {
    expect(decide(unpaid(status), seen({ kind: 'succeeded' }, dispute('lost')))).toMatchObject({
      change: {},
      entry: { what: 'looked up' },
    });
  });

  test.each([...open, 'voided'] as const)('of another amount parks an invoice that is %s, once', (status) => {
    const other = { ...shop, amountMinor: 5 };
    const decision = decide(unpaid(status), other);
    expect(decision).toMatchObject({
      change: {
        set: { status: 'parked', reason: expect.stringMatching(/pi_2 .*5 USD, not 1999 USD.*notCharged/) },
      },
      ends: [{ kind: 'parked' }],
    });
    expect(decide(afterwards(unpaid(status), decision), other)).toEqual({ kind: 'nothing' });
  });

  test('parks an invoice once more if its refund fails after a person has voided it because of that', () => {
    const parked = { at, what: 'parked', by: 'host', paymentId: shop.paymentId };
    const gone = { at, what: 'voided', by: 'ada', check: goneBackNote(shop.paymentId) };
    const decideAfter = (...timeline: Invoice['timeline']) =>
      decide({ ...unpaid('voided'), timeline: [parked, ...timeline] }, shop);
    expect(decideAfter(gone)).toMatchObject({ kind: 'change', change: { set: { status: 'parked' } } });
    expect(decideAfter(gone, parked)).toEqual({ kind: 'nothing' });
    expect(decideAfter({ at, what: 'voided', by: 'ada' })).toEqual({ kind: 'nothing' });
  });

  test('parks an invoice that a person has voided, whatever it was', () => {
    const timeline = [{ at, what: 'voided', by: 'ada' }];
    const decision = decide({ ...unpaid('voided'), timeline }, shop);
    expect(decision).toMatchObject({
      change: { set: { status: 'parked' } },
      entry: { paymentId: 'pi_2' },
      // Nothing is unknown, so nothing has to be looked up.
      ends: [{ kind: 'parked', unknown: false }],
    });
  });

  test.each([...invoiceStatuses])('of somebody else is noted once, whatever the invoice: %s', (status) => {
    const others = [
      { ...shop, madeBy: 'others' as const },
      { ...shop, customerId: 'cus-2' },
    ];
    const invoice = anInvoice({ status, payment: key });
    for (const foreign of others) {
      const decision = decide(invoice, foreign);
      expect(decision).toMatchObject({ change: {}, entry: { what: 'payment of somebody else' }, ends: [] });
      expect(decide(afterwards(invoice, decision), foreign)).toEqual({ kind: 'nothing' });
    }
  });
});

const views = fc.record({
  progress: fc.constantFrom<PaymentProgress>(
    { kind: 'succeeded' },
    { kind: 'canceled' },
    { kind: 'alive', state: 'processing' },
    { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' },
    { kind: 'failed', severity: 'hard', code: 'account_closed', message: 'closed' },
  ),
  reversals: fc.constantFrom(
    noReversals,
    refund('pending'),
    refund('failed'),
    dispute('open'),
    dispute('lost'),
  ),
});

test('whatever is seen, seeing it again changes nothing and tells nobody again', () => {
  fc.assert(
    fc.property(fc.constantFrom(...invoiceStatuses), views, (status, { progress, reversals }) => {
      const shape = { processing, paid };
      const invoice =
        status === 'processing' || status === 'paid' ? shape[status] : anInvoice({ status, payment: key });
      const payment = seen(progress, reversals);
      const first = decide(invoice, payment);
      if (first.kind !== 'change') return;
      expect(decide(afterwards(invoice, first), payment)).toEqual(
        progress.kind === 'succeeded' || progress.kind === 'alive' ? { kind: 'nothing' } : expect.anything(),
      );
    }),
  );
});

test('a key that may have moved money never makes way for another', () => {
  fc.assert(
    fc.property(views, ({ progress, reversals }) => {
      const decision = decide(processing, seen(progress, reversals));
      const next = decision.kind === 'change' ? decision.change.set?.payment?.keyNumber : undefined;
      if (next === 2) expect(progress.kind).toBe('failed');
    }),
  );
});

/** The invoice once the change is written. */
function afterwards(invoice: Invoice, decision: ReturnType<typeof decide>): Invoice {
  if (decision.kind !== 'change') return invoice;
  const { set = {}, clear = [] } = decision.change;
  const kept = Object.entries({ ...invoice, ...set }).filter(
    ([name]) => !(clear as readonly string[]).includes(name),
  );
  const after = Object.fromEntries(kept) as Invoice;
  return { ...after, timeline: [...invoice.timeline, { at, by: 'test', ...decision.entry }] };
}
