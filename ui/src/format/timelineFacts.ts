import type { TimelineEntry } from '../../../src/ops/answers/invoiceAnswers.ts';
import { amountText } from './amountText.ts';

/** Facts of a timeline's entry besides its time, event and instance; internal ids come last. */
const names: readonly (readonly [field: string, label: string])[] = [
  ['reason', 'because'],
  ['attempt', 'attempt'],
  ['keyNumber', 'key'],
  ['key', 'key'],
  ['paymentId', 'payment'],
  ['state', 'state'],
  ['method', 'method'],
  ['paymentMethod', 'payment method'],
  ['amountMinor', 'amount'],
  ['refundedMinor', 'refunded'],
  ['disputedMinor', 'disputed'],
  ['changes', 'changes'],
  ['refundId', 'refund'],
  ['from', 'from'],
  ['to', 'to'],
  ['nextAt', 'next try'],
  ['fence', 'fence'],
  ['runId', 'run'],
  ['batchId', 'batch'],
  ['traceparent', 'trace'],
];

/** The facts of an entry, in the order in which people look for them. Pure. */
export function timelineFacts(entry: TimelineEntry, currency: string): { label: string; value: string }[] {
  return names.flatMap(([field, label]) => {
    const value = entry[field];
    if (value === undefined || value === null || value === '' || value === 0) return [];
    if (typeof value === 'number' && field.endsWith('Minor'))
      return [{ label, value: `${amountText(value, currency)} ${currency}` }];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Of a traceparent, the id that people search for.
    return [{ label, value: field === 'traceparent' ? (text.split('-')[1] ?? text) : text }];
  });
}
