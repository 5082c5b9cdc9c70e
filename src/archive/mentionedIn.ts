/** Fields of a message by which it names an invoice: payment commands use the one, work items the other. */
const names = new Set(['invoiceId', 'resourceId']);

/** The invoices that messages name, wherever in them. It finds too much rather than too little. Pure. */
export function mentionedIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(mentionedIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'string' && names.has(name) ? [member] : mentionedIn(member),
  );
}
