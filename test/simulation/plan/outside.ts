/**
 * Events outside our own calls: others pay in the same account, answers get lost on their way to people, queues and reads
 * are not what they promise to be. One seed in five is such a schedule: that of the seed, and this besides. The chance of
 * these is a stream of its own, so all other seeds have the plans that they had.
 */
import type { SeededRandom } from '../../support/seededRandom.ts';
import { type Fault, moreActions, type OperatorAction } from './faults.ts';
import { day, hour, minute, type Plan, type PlannedInvoice, randomOf } from './plan.ts';
import type { Unnumbered } from './scenes/scene.ts';

type Story = (random: SeededRandom, plan: Plan) => Partial<Omit<Plan, 'faults'>> & { faults: Unnumbered[] };

/** The last digits of seeds that have something of the outside. */
const lastDigits: ReadonlySet<number> = new Set([0, 4]);

export function withOutside(seed: number, plan: Plan): Plan {
  if (!lastDigits.has(seed % 10)) return plan;
  const random = randomOf(seed, 'outside');
  const all = Object.values(stories);
  // Each story has its turn as the main one, and others come by chance. Half of the time nothing else goes wrong.
  const turn = 2 * Math.floor(seed / 10) + (seed % 10 === 0 ? 0 : 1);
  const main = all[turn % all.length];
  const told = all.filter((story) => story === main || random.next() < 0.15);
  const quiet = random.next() < 0.5;
  let changed: Plan = {
    ...plan,
    outside: true,
    listsEvents: random.next() < 0.85,
    ...(random.next() < 0.3 ? { webhook: true as const } : {}),
    ...(quiet ? { faults: [], clockErrorMs: plan.clockErrorMs.map(() => 0) } : {}),
  };
  // oxlint-disable-next-line oxc/no-accumulating-spread -- a few stories
  for (const story of told) {
    const { faults, ...more } = story(random, changed);
    changed = {
      ...changed,
      ...more,
      clockErrorMs: clocksOf(changed, more.instances),
      faults: [...changed.faults, ...faults.map(unnumbered)],
    };
  }
  return { ...changed, faults: numbered(changed.faults) };
}

function clocksOf({ clockErrorMs }: Plan, instances = clockErrorMs.length): number[] {
  return Array.from({ length: instances }, (_, place) => clockErrorMs[place] ?? 0);
}

/** The number follows once all are there. */
function unnumbered(fault: Unnumbered): Fault {
  return { ...fault, number: -1 };
}

/** In their order. Those of the plan keep their numbers, and with them what chance makes of them. */
function numbered(faults: readonly Fault[]): Fault[] {
  let next = 1 + faults.reduce((most, { number }) => Math.max(most, number), -1);
  return faults
    .map((fault) => (fault.number === -1 ? { ...fault, number: next++ } : fault))
    .toSorted((one, other) => one.at - other.at);
}

const second = 1_000;

const stories: Readonly<Record<string, Story>> = {
  /** Payments of all kinds, by all kinds of people, at any time. */
  payments(random, plan) {
    return {
      faults: Array.from({ length: random.between(1, 6) }, () =>
        payment(random, { at: anyTime(random, plan), invoice: anyOf(random, plan) }),
      ),
    };
  },

  /** Somebody pays while the app charges, or just before. */
  paidMeanwhile(random, plan) {
    return {
      faults: Array.from({ length: random.between(1, 4) }, () => ({
        ...payment(random, { at: 0, invoice: anyOf(random, plan) }),
        at: random.between(0, plan.invoiceEveryMs + 8 * second),
        ...(random.next() < 0.7 ? ({ by: 'shop', ...own } as const) : {}),
      })),
    };
  },

  /** An invoice is voided before it is due, somebody pays it all the same, and people do what the reason says. */
  voidedAndPaid(random, plan) {
    const chosen = someOf(random, plan, random.between(1, 4));
    const invoices = plan.invoices.map((one, place) =>
      chosen.includes(place) ? { ...one, dueAt: 30 * minute } : one,
    );
    const at = random.between(10 * second, 10 * minute);
    const paidAt = at + random.between(second, 20 * minute);
    return {
      invoices,
      faults: chosen.flatMap((invoice): Unnumbered[] => [
        caller(random, { at, action: 'void', invoice }),
        { ...payment(random, { at: paidAt, invoice }), ...own },
        ...advice(random, { from: paidAt + 2 * second, invoice, plan }),
        { kind: 'caller', at: paidAt + 2 * hour, action: 'refund', invoice, lost: 0, everyMs: minute },
      ]),
    };
  },

  /** Another deployment has invoices of the same names, with other customers, and people refund and void ours. */
  twoDeployments(random, plan) {
    return {
      faults: someOf(random, plan, random.between(1, 6)).flatMap((invoice): Unnumbered[] => [
        {
          ...payment(random, { at: random.between(0, 2 * plan.invoiceEveryMs), invoice }),
          by: 'deployment',
          names: true,
          customer: random.pick(['other', 'other', 'same']),
          amount: random.pick(['same', 'same', 'other']),
        },
        caller(random, { at: 10 * minute, action: random.pick(['refund', 'void']), invoice }),
      ]),
    };
  },

  /** People ask over HTTP, hear nothing, and ask again. */
  callers(random, plan) {
    const actions = [
      'refund',
      'refund',
      'refund',
      'void',
      'retry',
      'retryNotCharged',
      'retryMethod',
      'moveDueDate',
      'startRun',
      ...moreActions,
    ] as const;
    return {
      faults: Array.from({ length: random.between(3, 10) }, () =>
        caller(random, {
          at: anyTime(random, plan),
          action: random.pick(actions),
          invoice: anyOf(random, plan),
        }),
      ),
    };
  },

  /** An answer is lost, and a part of the money goes back before anybody has learnt that it was charged. */
  reversedBeforeKnown(random, plan) {
    const chosen = someOf(random, plan, random.between(1, 4));
    const fates = [{ kind: 'remembered', moved: true } as const];
    return {
      invoices: plan.invoices.map((one, place) =>
        chosen.includes(place) ? { ...one, dueAt: 0, fates } : one,
      ),
      faults: chosen.flatMap((invoice): Unnumbered[] => [
        {
          kind: 'reversal',
          at: plan.invoiceEveryMs + random.between(second, 30 * second),
          what: random.pick(['partial refund', 'partial refund', 'partial dispute', 'inquiry', 'refund']),
          invoice,
        },
        ...advice(random, { from: 20 * minute, invoice, plan }),
      ]),
    };
  },

  /**
   * A queue loses the orders of refunds, with all else that it has: the app has to order them again by itself. Half of the time
   * a person makes the refund by hand meanwhile.
   */
  lostOrders(random, plan) {
    const at = random.between(5 * minute, 20 * minute);
    return {
      invoices: plan.invoices.map((one) => ({ ...one, dueAt: 0 })),
      faults: [
        ...someOf(random, plan, random.between(1, 4)).flatMap((invoice): Unnumbered[] => [
          {
            kind: 'caller',
            at: at - random.between(100, 30 * second),
            action: 'refund',
            invoice,
            lost: random.pick([0, 0, 0, 1, 2]),
            everyMs: random.between(30 * second, 10 * minute),
          },
          ...(random.next() < 0.5
            ? []
            : [
                { kind: 'refundByHand', at: at + random.between(second, 10 * minute), invoice } as const,
                caller(random, { at: at + 40 * minute, action: 'settleRefund', invoice }),
              ]),
        ]),
        // The orders wait in the queue, since nobody may call the provider.
        { kind: 'operator', at: at - 40 * second, action: 'pause', host: 0, invoice: 0 },
        { kind: 'queueLost', at },
        { kind: 'operator', at: at + second, action: 'resumePayments', host: 0, invoice: 0 },
      ],
    };
  },

  /** All that can become of refunds and disputes, of our refunds and those that others make. */
  reversals(random, plan) {
    return {
      faults: someOf(random, plan, random.between(1, 6)).flatMap((invoice): Unnumbered[] => [
        {
          kind: 'reversal',
          at: random.between(5 * minute, Math.max(plan.horizonMs, hour)),
          what: random.pick([
            'refund',
            'dispute',
            'partial refund',
            'partial dispute',
            'inquiry',
            'refund that fails',
            'canceled refund',
          ]),
          invoice,
        },
        caller(random, { at: random.between(5 * minute, 2 * hour), action: 'refund', invoice }),
      ]),
    };
  },

  /** Bank debits that can still be canceled, or that somebody confirms once more after they have failed. */
  slowPayments(random, plan) {
    const invoices = plan.invoices.map((one): PlannedInvoice => {
      if (random.next() < 0.4) return one;
      const afterMs = random.pick([30 * second, 10 * minute, 3 * hour, 2 * day]);
      const isCanceled = random.next() < 0.5;
      const fate = isCanceled
        ? ({ kind: 'slow', afterMs, ends: 'succeeded', cancels: true } as const)
        : ({ kind: 'slow', afterMs, ends: 'failed', confirmedAfterMs: confirmedAfter(random) } as const);
      return { ...one, fates: [fate, ...one.fates.slice(0, 1)] };
    });
    return {
      invoices,
      faults: Array.from({ length: random.between(1, 6) }, () => {
        const at = random.between(plan.invoiceEveryMs, hour);
        return random.next() < 0.5
          ? caller(random, { at, action: 'void', invoice: anyOf(random, plan) })
          : { ...payment(random, { at, invoice: anyOf(random, plan) }), by: 'shop', ...own };
      }),
    };
  },

  /** The search is away, or lags by an hour, while outcomes are unknown and people decide. */
  noSearch(random, plan) {
    const invoices = plan.invoices.map((one): PlannedInvoice => {
      if (random.next() < 0.5) return one;
      return { ...one, fates: [{ kind: 'remembered', moved: random.next() < 0.5 }, ...one.fates] };
    });
    const actions = ['retry', 'retryNotCharged', 'retryMethod', 'void'] as const;
    return {
      invoices,
      searchLagMs: hour,
      faults: [
        {
          kind: 'searchAway',
          at: random.between(0, 10 * minute),
          ms: random.pick([10 * minute, plan.horizonMs]),
        },
        ...Array.from({ length: random.between(1, 8) }, () =>
          caller(random, {
            at: random.between(3 * minute, 40 * minute),
            action: random.pick(actions),
            invoice: anyOf(random, plan),
          }),
        ),
      ],
    };
  },

  /** Reads show what another instance has changed meanwhile as it was a little ago, while much is going on. */
  staleReads(random, plan) {
    const invoices = plan.invoices.map((one): PlannedInvoice => {
      if (random.next() < 0.5) return one;
      return { ...one, fates: [{ kind: 'remembered', moved: random.next() < 0.7 }, ...one.fates] };
    });
    return {
      instances: Math.max(2, plan.instances),
      invoices,
      faults: [
        {
          kind: 'stale',
          at: 0,
          ms: plan.horizonMs,
          share: random.pick([0.1, 0.5, 0.9]),
          lagMs: random.pick([200, 2 * second, 10 * second]),
        },
        ...Array.from({ length: random.between(1, 8) }, () =>
          caller(random, {
            at: random.between(2 * minute, hour),
            action: random.pick(['refund', 'refund', 'void', 'retry']),
            invoice: anyOf(random, plan),
          }),
        ),
        ...Array.from({ length: random.between(0, 3) }, () => ({
          ...payment(random, { at: random.between(0, 5 * minute), invoice: anyOf(random, plan) }),
          ...own,
        })),
      ],
    };
  },

  /** Events are delivered, or not, while much happens to payments. */
  webhook(random, plan) {
    return {
      webhook: true,
      listsEvents: true,
      faults: [
        {
          kind: 'eventsLost',
          at: random.between(0, 2 * minute),
          ms: random.pick([10 * minute, hour, day]),
          share: random.pick([0.3, 1]),
        },
        ...someOf(random, plan, random.between(1, 5)).flatMap((invoice): Unnumbered[] => [
          {
            kind: 'reversal',
            at: random.between(2 * minute, hour),
            what: random.pick([
              'refund',
              'dispute',
              'partial refund',
              'partial dispute',
              'refund that fails',
            ]),
            invoice,
          },
          {
            ...payment(random, { at: random.between(0, hour), invoice: anyOf(random, plan) }),
            ...own,
          },
        ]),
        caller(random, {
          at: random.between(5 * minute, hour),
          action: 'refund',
          invoice: anyOf(random, plan),
        }),
      ],
    };
  },

  /**
   * The database is put back to an earlier time, after people have voided invoices and moved or retried others, payments were made
   * and some went back. Half of the time it is so long ago that the provider has forgotten the keys.
   */
  restored(random, plan) {
    const isLong = random.next() < 0.5;
    const backMs = isLong ? 25 * hour : random.between(10 * minute, 2 * hour);
    const at = isLong ? 28 * hour : 3 * hour;
    const from = at - backMs;
    const invoices = plan.invoices.map((imported): PlannedInvoice => {
      const roll = random.next();
      // Nobody confirms what the copy has never heard of.
      const fates = imported.fates.filter((fate) => !('confirmedAfterMs' in fate));
      const one = { ...imported, fates };
      // Some are not due before the restore.
      if (roll < 0.4) return { ...one, dueAt: at + random.between(0, 2 * hour) };
      if (roll < 0.7) return { ...one, dueAt: random.between(from, at - 5 * minute) };
      return { ...one, dueAt: 0 };
    });
    const chosen = someOf(random, plan, random.between(2, 8));
    return {
      invoices,
      // All other faults are planned within the same time: nothing may go wrong after the end of faults.
      horizonMs: Math.max(plan.horizonMs, at + 2 * hour),
      faults: [
        ...chosen.map((invoice) =>
          caller(random, {
            at: from + random.between(second, backMs - 5 * minute),
            action: random.pick(['void', 'void', 'moveDueDate', 'retryMethod', 'refund']),
            invoice,
          }),
        ),
        ...chosen.map((invoice): Unnumbered => ({
          kind: 'reversal',
          at: from + random.between(second, backMs),
          what: random.pick(['refund', 'dispute', 'partial refund']),
          invoice,
        })),
        { kind: 'restore', at, backMs },
      ],
    };
  },

  /** Customers whom the provider does not have. */
  unknownCustomers(random, plan) {
    const chosen = someOf(random, plan, random.between(1, 3));
    return {
      invoices: plan.invoices.map((one, place) =>
        chosen.includes(place) ? { ...one, customerId: `cus-unknown-${place}` } : one,
      ),
      faults: chosen.map((invoice) =>
        caller(random, {
          at: random.between(3 * minute, hour),
          action: random.pick(['void', 'retry', 'retryNotCharged']),
          invoice,
        }),
      ),
    };
  },
};

/** Of the customer of the invoice, over its amount, and it names it. */
const own = { names: true, customer: 'same', amount: 'same' } as const;

function payment(
  random: SeededRandom,
  { at, invoice }: { at: number; invoice: number },
): Extract<Unnumbered, { kind: 'payment' }> {
  return {
    kind: 'payment',
    at,
    invoice,
    by: random.pick(['shop', 'shop', 'dashboard', 'deployment']),
    names: random.next() < 0.85,
    customer: random.next() < 0.75 ? 'same' : 'other',
    amount: random.next() < 0.75 ? 'same' : 'other',
    ends: random.pick(['succeeded', 'succeeded', 'succeeded', 'slow', 'bounces', 'waits', 'fails']),
    afterMs: random.pick([30 * second, 10 * minute, 3 * hour, 2 * day]),
  };
}

function caller(
  random: SeededRandom,
  { at, action, invoice }: { at: number; action: OperatorAction; invoice: number },
): Extract<Unnumbered, { kind: 'caller' }> {
  const lost = random.pick([0, 1, 1, 2, 3]);
  return { kind: 'caller', at, action, invoice, lost, everyMs: random.between(2 * second, 2 * minute) };
}

/** People who do what the reason of an invoice says, alone or for all that are parked. */
function advice(
  random: SeededRandom,
  { from, invoice, plan }: { from: number; invoice: number; plan: Plan },
): Unnumbered[] {
  return Array.from({ length: random.between(1, 3) }, () => {
    const at = from + random.between(0, 30 * minute);
    const action = random.pick(['followAdvice', 'followAdvice', 'bulkRetry'] as const);
    return random.next() < 0.7
      ? { kind: 'caller', at, action, invoice, lost: random.between(0, 1), everyMs: minute }
      : { kind: 'operator', at, action, host: random.between(0, plan.instances - 1), invoice };
  });
}

function confirmedAfter(random: SeededRandom): number {
  return random.pick([100, 5 * second, minute, hour, 5 * day]);
}

function anyTime(random: SeededRandom, { horizonMs, invoiceEveryMs }: Plan): number {
  const roll = random.next();
  if (roll < 0.3) return random.between(0, invoiceEveryMs);
  if (roll < 0.6) return invoiceEveryMs + random.between(0, 8 * second);
  return random.between(0, horizonMs);
}

function anyOf(random: SeededRandom, { invoices }: Plan): number {
  return random.between(0, invoices.length - 1);
}

/** So many different ones, or all. */
function someOf(random: SeededRandom, { invoices }: Plan, count: number): number[] {
  const left = invoices.map((_, place) => place);
  const most = Math.min(count, left.length);
  return Array.from({ length: most }, () => left.splice(random.between(0, left.length - 1), 1)[0] ?? 0);
}
