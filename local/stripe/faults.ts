import { z } from 'zod';
import type { CallFault } from './paymentMethods.ts';

const faultSchema = z.strictObject({
  kind: z.enum([
    'timeout-before',
    'timeout-after',
    'reset-before',
    'reset-after',
    '500',
    '500-after',
    '429',
    'decline',
    'delay',
  ]),
  count: z.int().positive().default(1),
  /** For `delay`, in milliseconds. */
  delayMs: z.int().min(0).default(0),
  filter: z
    .strictObject({ invoiceId: z.string().optional(), operation: z.enum(['charge', 'search']).optional() })
    .default({}),
});
type Armed = z.infer<typeof faultSchema> & { hit: number };

export type Faults = ReturnType<typeof createFaults>;

/** Faults on demand: the next `count` calls that match get them. */
export function createFaults() {
  let armed: Armed[] = [];
  const next = (delay: boolean, call: { invoiceId: string; operation: 'charge' | 'search' }) => {
    const fault = armed.find(
      ({ kind, hit, count, filter }) =>
        (kind === 'delay') === delay &&
        hit < count &&
        (filter.invoiceId === undefined || filter.invoiceId === call.invoiceId) &&
        (filter.operation ?? 'charge') === call.operation,
    );
    if (fault !== undefined) fault.hit++;
    return fault;
  };
  return {
    /** @throws {z.ZodError} naming what is wrong with it */
    arm(fault: unknown): void {
      armed.push({ ...faultSchema.parse(fault), hit: 0 });
    },
    list: (): readonly Armed[] => armed,
    clear(): void {
      armed = [];
    },
    take(call: { invoiceId: string; operation: 'charge' | 'search' }): CallFault | 'decline' | undefined {
      const kind = next(false, call)?.kind;
      return kind === 'delay' ? undefined : kind;
    },
    /** How long the call waits before anything else, in milliseconds. */
    delayOf: (call: { invoiceId: string; operation: 'charge' | 'search' }): number =>
      next(true, call)?.delayMs ?? 0,
  };
}
