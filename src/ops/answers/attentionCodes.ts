/** What may need a person, the most urgent first. */
export const attentionCodes = [
  'nothing-paid',
  'disputes',
  'dead-letters',
  'outbox-parked',
  'invoices-parked',
  'stale-claims',
] as const;
export type AttentionCode = (typeof attentionCodes)[number];
