import { randomUUID } from 'node:crypto';
import type { LineWait } from '@payonce/leases';

/** Time that a waiter who gives up has to leave the line (ms). Otherwise its place ends by itself. */
const leaveMs = 2_000;

/**
 * The waiters of one store in this process. A server calls the first in line by its ticket, on a channel of this process, which the
 * ticket names.
 */
export interface Waiters {
  /** Name of the channel. */
  readonly channel: string;
  /** A new waiter. `leave` takes its ticket out of the line of the lock. */
  add(leave: (ticket: string, signal: AbortSignal) => Promise<unknown>): LineWait;
  /** The server has called this ticket. */
  readonly call: (ticket: string) => void;
  /** The place of this ticket, as the last answer has it. */
  place(ticket: string | undefined, inLine: boolean): void;
}

interface Waiter {
  inLine: boolean;
  /** Called since somebody last asked. */
  called: boolean;
  wake: () => void;
}

export function waiters(): Waiters {
  const channel = randomUUID().replaceAll('-', '');
  const waiting = new Map<string, Waiter>();
  let count = 0;

  return {
    channel,

    add(leave) {
      const ticket = `${channel}/${++count}`;
      const waiter: Waiter = { inLine: false, called: false, wake: () => {} };
      waiting.set(ticket, waiter);
      return {
        ticket,
        async called(signal) {
          if (!waiter.called && !signal.aborted) {
            await new Promise<void>((resolve) => {
              waiter.wake = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
          waiter.called = false;
        },
        async [Symbol.asyncDispose]() {
          waiting.delete(ticket);
          if (waiter.inLine) await leave(ticket, AbortSignal.timeout(leaveMs)).catch(() => {});
        },
      };
    },

    call(ticket) {
      const waiter = waiting.get(ticket);
      if (waiter === undefined) return;
      waiter.called = true;
      waiter.wake();
    },

    place(ticket, inLine) {
      const waiter = ticket === undefined ? undefined : waiting.get(ticket);
      if (waiter !== undefined) waiter.inLine = inLine;
    },
  };
}
