import { z } from 'zod';

/** Something that a bulk run was asked to change, and why it did not. */
export interface NotChanged {
  id: string;
  why: string;
}

/** The target in the audit trail under which the refusals of a bulk run are found. */
export function refusedBy(runId: string): string {
  return `bulk/${runId}/refused`;
}

const refusedSchema = z.array(z.object({ id: z.string(), why: z.string() }));

/** The refusals of one piece as the detail of an audit record. Pure. */
export function refusedDetail(refused: readonly NotChanged[]): { refused: string } {
  return { refused: JSON.stringify(refused) };
}

/** Undoes that. Pure. */
export function refusedIn({ refused }: Readonly<Record<string, unknown>>): NotChanged[] {
  return typeof refused === 'string' ? refusedSchema.parse(JSON.parse(refused)) : [];
}
