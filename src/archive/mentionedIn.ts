import type { PoisonStore } from '../workItems/poison.ts';

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

/** The invoices that the bodies of messages name. */
export async function idsIn(pages: AsyncIterable<readonly unknown[]>): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const bodies of pages) for (const id of mentionedIn(bodies)) ids.add(id);
  return ids;
}

/** Resource ids of dead-lettered work items. */
export async function resourcesOf(poison: Pick<PoisonStore, 'list'>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let behind: string | undefined; ; ) {
    const page = await poison.list(100, behind);
    for (const { resourceId } of page) ids.add(resourceId);
    behind = page.at(-1)?.id;
    if (page.length < 100 || behind === undefined) return ids;
  }
}
