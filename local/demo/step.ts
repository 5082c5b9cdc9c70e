import { z } from 'zod';

const step = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('message'), invoices: z.array(z.string()), delivery: z.number() }),
  z.object({ kind: z.literal('call'), invoice: z.string(), key: z.string() }),
  z.object({ kind: z.literal('answer'), invoice: z.string(), outcome: z.string() }),
]);

/** Something that a host does for an invoice, which leaves no entry in its timeline. */
export type DemoStep = z.infer<typeof step>;

const mark = 'demo step ';

export function printStep(taken: DemoStep): void {
  console.log(`${mark}${JSON.stringify(taken)}`);
}

/** The step that a line of a host's output is about; undefined if it is about something else. */
export function readStep(line: string): DemoStep | undefined {
  return line.startsWith(mark) ? step.parse(JSON.parse(line.slice(mark.length))) : undefined;
}
