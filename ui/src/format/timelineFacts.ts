import type { TimelineEntry } from '../../../src/ops/answers/invoiceAnswers.ts';

/** Facts of a timeline's entry besides its time, event and instance; internal ids come last. */
const names: readonly (readonly [field: string, label: string])[] = [
  ['reason', 'because'],
  ['attempt', 'attempt'],
  ['keyNumber', 'key'],
  ['key', 'key'],
  ['paymentId', 'payment'],
  ['state', 'state'],
  ['method', 'method'],
  ['amountMinor', 'amount (minor units)'],
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
export function timelineFacts(entry: TimelineEntry): { label: string; value: string }[] {
  return names.flatMap(([field, label]) => {
    const value = entry[field];
    if (value === undefined || value === null || value === '') return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Of a traceparent, the id that people search for.
    return [{ label, value: field === 'traceparent' ? (text.split('-')[1] ?? text) : text }];
  });
}
