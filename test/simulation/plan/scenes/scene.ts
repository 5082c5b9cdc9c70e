/** Parts of a scene, and the helpers that scenes share. */
import type { SeededRandom } from '../../../support/seededRandom.ts';
import type { ChargeFate } from '../../world/provider.ts';
import type { Fault, OperatorAction } from '../faults.ts';
import { minute, type Plan, type PlannedInvoice } from '../plan.ts';

export type Unnumbered = Fault extends infer One ? (One extends Fault ? Omit<One, 'number'> : never) : never;
export type Shape = Omit<Plan, 'seed' | 'faults'>;
/** The faults, and what differs from the usual shape. */
export type Scene = (random: SeededRandom) => Partial<Shape> & { faults: Unnumbered[] };
export type Scenes = Readonly<Record<string, Scene>>;

export const second = 1_000;
/** The first tick of the job, which claims all that is due at the beginning. */
export const tick = minute;

/** So many invoices, all due at the beginning. `named`: the share of those that name their payment method. */
export function invoicesOf(
  random: SeededRandom,
  count: number,
  { named = 1, fates = () => [] }: { named?: number; fates?: () => ChargeFate[] } = {},
): PlannedInvoice[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `inv-${n}`,
    customerId: `cus-${n % 5}`,
    amountMinor: 1_000 + n,
    currency: 'EUR',
    dueAt: 0,
    ...(random.next() < named ? { paymentMethod: `pm-${n % 5}` } : {}),
    fates: fates(),
  }));
}

/** So many people, who do one of these things to one of the first invoices. */
export function operators(
  random: SeededRandom,
  count: number,
  actions: readonly OperatorAction[],
  { from, until, invoices }: { from: number; until: number; invoices: number },
): Unnumbered[] {
  return Array.from({ length: count }, () => ({
    kind: 'operator',
    at: random.between(from, until),
    action: random.pick(actions),
    host: 0,
    invoice: random.between(0, invoices - 1),
  }));
}
