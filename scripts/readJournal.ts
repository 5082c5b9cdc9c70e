// Reads the journal of what people change (docs/threat-model.md#the-journal), for those who restore the database.
import type { ContainerClient } from '@azure/storage-blob';
import { z } from 'zod';
import type { JournalLine } from '../src/ops/auditTrail.ts';

const lineSchema: z.ZodType<JournalLine> = z.union([
  z.object({
    at: z.string(),
    intent: z.string(),
    actor: z.string(),
    actorId: z.string().exactOptional(),
    action: z.string(),
    target: z.string(),
    changes: z.record(z.string(), z.unknown()),
  }),
  z.object({ at: z.string(), intent: z.string(), outcome: z.union([z.int(), z.literal('unknown')]) }),
]);

/** The lines of the days since a time (ISO 8601, UTC), blob by blob. `onUnreadable` is given each text that is no line. */
export async function* journalLines(
  container: ContainerClient,
  since: string,
  onUnreadable: (blob: string, text: string) => void,
): AsyncGenerator<JournalLine> {
  for await (const { name } of container.listBlobsFlat()) {
    if (name < since.slice(0, 10)) continue;
    let rest = '';
    for await (const chunk of await textOf(container, name)) {
      const texts = (rest + chunk.toString()).split('\n');
      rest = texts.pop() ?? '';
      for (const text of texts) {
        const line = journalLine(text);
        if (line === undefined) onUnreadable(name, text);
        else yield line;
      }
    }
    if (rest !== '') onUnreadable(name, rest);
  }
}

async function textOf(container: ContainerClient, name: string): Promise<NodeJS.ReadableStream> {
  const { readableStreamBody } = await container.getAppendBlobClient(name).download();
  if (readableStreamBody === undefined) throw new Error(`blob ${name} has no body`);
  return readableStreamBody.setEncoding('utf8');
}

function journalLine(text: string): JournalLine | undefined {
  try {
    return lineSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A change to an invoice that a database which was restored may lack. */
export interface JournaledChange {
  at: string;
  invoiceId: string;
  actor: string;
  /** Object id of the person. Absent: nobody was signed in. */
  actorId?: string;
  change:
    | { kind: 'voided' }
    | { kind: 'void undone' }
    | { kind: 'dueDate'; dueAt: string }
    | { kind: 'paymentMethod'; paymentMethod: string };
  /** False: no answer is on record, as of each invoice of a bulk run. It may have changed nothing. */
  answered: boolean;
}

/** Actions whose lines say what becomes of an invoice. */
export const journaledActions = {
  void: 'void invoice',
  bulkVoid: 'bulk void',
  undo: 'undo void',
  move: 'move due date',
  retry: 'retry invoice',
} as const;

/**
 * The invoices that people have voided (or undone that), moved or given another payment method since a time (ISO 8601, UTC), in the order of
 * time. Refused requests are left out.
 */
export async function journaledChanges(
  lines: AsyncIterable<JournalLine> | Iterable<JournalLine>,
  since: string,
): Promise<JournaledChange[]> {
  const found = new Map<string, JournaledChange & { intent: string }>();
  const outcomes = new Map<string, number | 'unknown'>();
  for await (const line of lines) {
    if (line.at < since) continue;
    if ('outcome' in line) {
      outcomes.set(line.intent, line.outcome);
      continue;
    }
    const change = changeIn(line);
    if (change === undefined) continue;
    const { at, intent, target: invoiceId, actor, actorId } = line;
    const who = actorId === undefined ? { actor } : { actor, actorId };
    found.set(`${intent} ${invoiceId}`, { at, intent, invoiceId, ...who, change, answered: false });
  }
  return [...found.values()]
    .flatMap(({ intent, ...one }) => {
      const outcome = outcomes.get(intent) ?? 'unknown';
      const unknown = outcome === 'unknown' || outcome >= 500;
      return unknown || outcome < 400 ? [{ ...one, answered: !unknown }] : [];
    })
    .toSorted((one, other) => (one.at < other.at ? -1 : 1));
}

function changeIn({
  action,
  changes,
}: Extract<JournalLine, { action: string }>): JournaledChange['change'] | undefined {
  const { dueAt, paymentMethod } = changes;
  if (action === journaledActions.void || action === journaledActions.bulkVoid) return { kind: 'voided' };
  if (action === journaledActions.undo) return { kind: 'void undone' };
  if (action === journaledActions.move && typeof dueAt === 'string') return { kind: 'dueDate', dueAt };
  if (action === journaledActions.retry && typeof paymentMethod === 'string') {
    return { kind: 'paymentMethod', paymentMethod };
  }
  return undefined;
}
