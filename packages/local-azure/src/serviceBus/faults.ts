import { z } from 'zod';
import type { BrokerClock } from './clock.ts';

export const operations = ['connect', 'send', 'receive', 'settle', 'management'] as const;
export type Operation = (typeof operations)[number];

const shared = {
  /** Number of matching operations that the fault hits. */
  count: z.int().min(1).default(1),
  /** Restricts the fault to this queue. Absent: any queue. */
  queue: z.string().optional(),
};

export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('drop-connection'),
    ...shared,
    /** Absent: drops every connection now. */
    operation: z.enum(operations).optional(),
    /** Before the operation is applied, or after it but before the reply. */
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
    /** AMQP error condition. Absent: one that the SDK retries. */
    condition: z.string().optional(),
  }),
  /** Expires all current locks, or with `session` the locks of sessions with this id only. */
  z.strictObject({
    kind: z.literal('expire-locks'),
    queue: z.string().optional(),
    session: z.string().optional(),
  }),
]);

export type Fault = z.infer<typeof faultSchema>;

/** A fault waiting for a matching operation. */
export type ArmedFault = Exclude<Fault, { kind: 'expire-locks' }>;

/** Faults armed by tests, oldest first. */
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

  /** The fault to apply to an operation, if any. Uses up one of its count. `connect` has no queue. */
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

/** Conditions that the SDK retries. It does not reopen a connection closed with any other. */
const transientCondition = (operation: Operation | undefined) =>
  operation === 'connect' ? 'amqp:connection:forced' : 'com.microsoft:server-busy';

export interface AmqpCondition {
  condition: string;
  description: string;
}

/** Runs one operation with its fault, if any. */
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
        description: 'Refused by a fault injected by a test.',
      });
      break;
    case 'drop-connection':
      if (fault.when === 'after') operation.apply();
      operation.drop();
      break;
  }
}
