/** The plan of one schedule: all of it follows from the seed. */
import { type SeededRandom, seededRandom } from '../../support/seededRandom.ts';
import type { ChargeFate } from '../world/provider.ts';
import type { Fault } from './faults.ts';

export interface PlannedInvoice {
  id: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  /** Milliseconds from the beginning. */
  dueAt: number;
  paymentMethod?: string;
  /** Fates of its charges, one after the other; the rest succeed. */
  fates: readonly ChargeFate[];
}

export interface Plan {
  seed: number;
  instances: number;
  /** Time from the beginning until the end of faults (ms). */
  horizonMs: number;
  invoices: readonly PlannedInvoice[];
  faults: readonly Fault[];
  /** By instance: how wrong its wall clock is, in milliseconds. */
  clockErrorMs: readonly number[];
  /** Charges per second. */
  rate: number;
  shards: number;
  shardGroups: number;
  batchSize: number;
  claimStaleSeconds: number;
  paymentTimeoutSeconds: number;
  invoiceEveryMs: number;
  /** True if the provider's events are listed. */
  listsEvents: boolean;
  notifies: boolean;
  searchLagMs: number;
  /** Things happen that are no call of ours (plan/outside.ts), and refunds may end in more ways. */
  outside?: true;
  /** Events are delivered to a webhook; `listsEvents` says if their list is read as well. */
  webhook?: true;
  /** The provider's limit is a token bucket that is a second deep. Absent: a count by the second of its clock. */
  tokenBucket?: true;
}

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

/** Nothing goes wrong: nothing may be late, claimed twice or left over. */
export function isCalm({ faults, clockErrorMs }: Plan): boolean {
  return faults.length === 0 && clockErrorMs.every((ms) => ms === 0);
}

const withoutFailures: ReadonlySet<Fault['kind']> = new Set([
  'rateCut',
  'disorder',
  'newerMessage',
  'operator',
  'caller',
  'reversal',
  'payment',
  'refundByHand',
  'queueLost',
]);

/** No call is lost and no process stands still. Calls may come too fast for the provider, and charges may fail there. */
export function isReliable({ faults }: Plan): boolean {
  return faults.every(({ kind }) => withoutFailures.has(kind));
}

export interface PlanOptions {
  instances?: number;
  days?: number;
}

/** A source of its own for each purpose, so that leaving one fault out does not change the others. */
export function randomOf(seed: number, purpose: string): SeededRandom {
  let mixed = seed ^ 0x9e3779b9;
  for (let at = 0; at < purpose.length; at++) mixed = Math.imul(mixed ^ purpose.charCodeAt(at), 0x01000193);
  return seededRandom(mixed);
}
