import type { z } from 'zod';
import { metric, type Telemetry } from '../platform/telemetry.ts';

/** A stored document that is not what it should be. */
export interface Unreadable {
  type: 'invoice' | 'outboxMessage';
  id: string;
  /** What is wrong with it, in one line for people. */
  problem: string;
}

export type OnUnreadable = (found: Unreadable) => void;

/** Those documents that are what they should be. The others are passed by: one of them must not hold up all the rest. */
export function readable<T>(
  documents: readonly unknown[],
  schema: z.ZodType<T>,
  type: Unreadable['type'],
  onUnreadable: OnUnreadable = () => {},
): T[] {
  return documents.flatMap((document) => {
    const { success, data, error } = schema.safeParse(document);
    if (success) return [data];
    const [issue] = error.issues;
    const problem = issue === undefined ? error.message : `${issue.path.join('.')}: ${issue.message}`;
    onUnreadable({ type, id: idOf(document), problem });
    return [];
  });
}

/** Counts each time that one is passed by, so that an alert stays while it is there; names it in the log once. */
export function unreadableReport({
  telemetry,
  log,
}: {
  telemetry: Telemetry;
  log: (message: string) => void;
}): OnUnreadable {
  const told = new Set<string>();
  return ({ type, id, problem }) => {
    telemetry.count(metric.documentUnreadable, { type });
    const name = `${type} "${id}"`;
    if (told.has(name)) return;
    told.add(name);
    log(`${name} cannot be read and is passed by: ${problem}`);
  };
}

function idOf(document: unknown): string {
  return typeof document === 'object' && document !== null && 'id' in document ? String(document.id) : '';
}
