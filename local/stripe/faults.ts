import { z } from 'zod';
import type { Incident } from './incident.ts';
import { type Operation, operations } from './operation.ts';

const armed = z.strictObject({
  kind: z.enum([
    'timeout-before',
    'timeout-after',
    'reset-before',
    'reset-after',
    '500',
    '500-after',
    '400',
    '429',
    'decline',
    'refund-fails',
    'delay',
  ]),
  count: z.int().min(1).default(1),
  /** For `delay`: how long the call stays in progress before it executes, in milliseconds. */
  delayMs: z.int().min(0).default(1000),
  filter: z
    .strictObject({
      invoiceId: z.string().optional(),
      operation: z.enum(operations).optional(),
    })
    .default({}),
});

/**
 * An injected fault. It hits the next `count` calls that match `filter`. Without an operation it matches the
 * calls that charge, create and confirm; `refund-fails` matches refunds.
 */
export interface Fault extends z.infer<typeof armed> {
  /** Number of calls hit so far, out of `count`. */
  hits: number;
}

export interface FaultableCall {
  operation: Operation;
  invoiceId: string | undefined;
}

export type Faults = ReturnType<typeof createFaults>;

export function createFaults() {
  let faults: Fault[] = [];

  function take(call: FaultableCall, wanted: (fault: Fault) => boolean): Fault | undefined {
    if (faults.length === 0) return undefined;
    const fault = faults.find((each) => each.hits < each.count && wanted(each) && matches(each, call));
    if (fault !== undefined) fault.hits += 1;
    return fault;
  }

  return {
    /** @throws {z.ZodError} naming the invalid fields */
    arm(body: unknown): Fault {
      const fault = { ...armed.parse(body), hits: 0 };
      faults.push(fault);
      return fault;
    },
    /** The incident from the first fault that matches this call. Counts as a hit. */
    takeIncident(call: FaultableCall): Incident | undefined {
      const kind = take(call, (fault) => fault.kind !== 'delay')?.kind;
      return kind === 'delay' ? undefined : kind;
    },
    /**
     * Takes the delay of this call (ms); 0 if no fault matches. Counts as a hit. Combines with any incident.
     */
    takeDelay: (call: FaultableCall): number => take(call, (fault) => fault.kind === 'delay')?.delayMs ?? 0,
    list: (): readonly Fault[] => faults,
    clear(): void {
      faults = [];
    },
  };
}

function matches({ kind, filter }: Fault, { operation, invoiceId }: FaultableCall): boolean {
  const usual: readonly Operation[] = kind === 'refund-fails' ? ['refund'] : ['create', 'confirm'];
  return (
    (filter.operation === undefined ? usual.includes(operation) : filter.operation === operation) &&
    (filter.invoiceId === undefined || filter.invoiceId === invoiceId)
  );
}
