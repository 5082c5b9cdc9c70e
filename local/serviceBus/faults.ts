import { z } from 'zod';
import type { BrokerClock } from './clock.ts';

export const operations = ['connect', 'send', 'receive', 'settle', 'management'] as const;
export type Operation = (typeof operations)[number];

const shared = {
  /** How many matching operations it hits. */
  count: z.int().min(1).default(1),
  /** Only this queue; absent: any. */
  queue: z.string().optional(),
};

export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('drop-connection'),
    ...shared,
    /** Absent: every connection is dropped now. */
    operation: z.enum(operations).optional(),
    /** Before the operation is applied, or after it but before the answer. */
    when: z.enum(['before', 'after']).default('before'),
  }),
  z.strictObject({
    kind: z.literal('delay'),
    ...shared,
    operation: z.enum(operations).optional(),
    delayMs: z.int().min(0).max(600_000),
  }),
  z.strictObject({
    kind: z.literal('refuse'),
    ...shared,
    operation: z.enum(operations).optional(),
    /** AMQP error condition; absent: one after which the SDK tries again. */
    condition: z.string().optional(),
  }),
  /** Ends the locks that exist now, as if their time had run out. */
  z.strictObject({ kind: z.literal('expire-locks'), queue: z.string().optional() }),
]);

export type Fault = z.infer<typeof faultSchema>;

/** A fault that waits for an operation to hit. */
export type ArmedFault = Exclude<Fault, { kind: 'expire-locks' }>;

/** The faults that tests have asked for, oldest first. */
export class Faults {
  #armed: ArmedFault[] = [];

  arm(fault: ArmedFault): void {
    this.#armed.push({ ...fault });
  }

  list(): readonly ArmedFault[] {
    return this.#armed;
  }

  clear(): void {
    this.#armed = [];
  }

  /** The fault for an operation on a queue (none for `connect`), which uses one of its count up. */
  take(operation: Operation, queue?: string): ArmedFault | undefined {
    if (this.#armed.length === 0) return undefined;
    const fault = this.#armed.find(
      (each) =>
        (each.operation === undefined || each.operation === operation) &&
        (each.queue === undefined || each.queue.toLowerCase() === queue?.toLowerCase()),
    );
    if (fault === undefined) return undefined;
    fault.count--;
    if (fault.count === 0) this.#armed = this.#armed.filter((each) => each !== fault);
    return fault;
  }
}

/** After these the SDK tries again; a connection closed for another reason it does not open again. */
const transientCondition = (operation: Operation | undefined) =>
  operation === 'connect' ? 'amqp:connection:forced' : 'com.microsoft:server-busy';

export interface AmqpCondition {
  condition: string;
  description: string;
}

/** Runs one operation as the fault for it, if any, wants. */
export function underFault(
  fault: ArmedFault | undefined,
  clock: BrokerClock,
  operation: { apply: () => void; refuse: (error: AmqpCondition) => void; drop: () => void },
): void {
  switch (fault?.kind) {
    case undefined:
      operation.apply();
      break;
    case 'delay':
      clock.after(fault.delayMs, operation.apply);
      break;
    case 'refuse':
      operation.refuse({
        condition: fault.condition ?? transientCondition(fault.operation),
        description: 'Refused by a fault set for a test.',
      });
      break;
    case 'drop-connection':
      if (fault.when === 'after') operation.apply();
      operation.drop();
      break;
  }
}
