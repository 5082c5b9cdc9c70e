import { z } from 'zod';

const record = z.object({ fence: z.int() });

/** Creates the record that a holder leaves in a store that keeps text, as a bare client writes it. */
export function recordWith(fence: number, leaseMs: number): string {
  const owner = { instance: 'bench', job: 'bench' };
  return JSON.stringify({ fence, owner, since: Date.now(), leaseMs });
}

/** The fence of the last holder; 0 if there was none. */
export function fenceIn(text: unknown): number {
  return typeof text === 'string' && text !== '' ? record.parse(JSON.parse(text)).fence : 0;
}
