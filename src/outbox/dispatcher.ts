import { systemClock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { metric, noTelemetry } from '../platform/telemetry.ts';
import { inDispatchSpan } from './dispatchSpan.ts';
import {
  type DispatchDecision,
  decideDispatch,
  type OutboxMessage,
  type SendResult,
  waitedMs,
} from './outboxMessage.ts';
import type { OutboxStore } from './outboxStore.ts';

/**
 * Sends messages to one destination in as few requests as it can; one result per message, in order. Never rejects and
 * always ends, because whatever arrives meanwhile waits for it, and so does the only sweeper.
 *
 * `mayGo` is asked about each message as late as the destination can. With Service Bus that is the moment before the send,
 * when connections are open and nothing is left to wait for. A message that may not go is withheld.
 */
export type SendMessages = (
  messages: readonly OutboxMessage[],
  mayGo?: (message: OutboxMessage) => boolean,
) => Promise<readonly SendResult[]>;

/** Throws if the sender may not act any more, because its lease is gone. */
export type Guard = () => void;

export interface Dispatcher {
  /**
   * Sends a message that is stored and pending, and records what became of it. Resolves when that is done, even if it
   * failed: the message then stays pending (or is parked), and the sweeper comes back to it.
   */
  dispatch(message: OutboxMessage, guard?: Guard): Promise<DispatchDecision>;
}

interface Entry {
  message: OutboxMessage;
  guard: Guard;
  done: (decision: DispatchDecision) => void;
}

/**
 * A dispatcher that coalesces: while one round of sends is under way, further messages gather, and the next round takes
 * them all. Many commits need few requests, and a single message is not delayed.
 *
 * A process that dies between the send and the mark leaves the message pending, and it is sent again. The consumer copes
 * with that, and duplicate detection on Service Bus (the message id is the batch id) usually spares it the work.
 */
export function createDispatcher({
  outbox,
  destinations,
  instance: { clock = systemClock, telemetry = noTelemetry } = {},
}: {
  outbox: Pick<OutboxStore, 'mark'>;
  /** By the name that messages carry. */
  destinations: Readonly<Record<string, SendMessages>>;
  /** Default: the system's clock, and no telemetry. */
  instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>>;
}): Dispatcher {
  const waiting = new Map<string, Entry[]>();

  return {
    dispatch: (message, guard = () => {}) =>
      inDispatchSpan(message, () => new Promise((done) => enqueue({ message, guard, done }))),
  };

  function enqueue(entry: Entry): void {
    const { destination } = entry.message;
    const queue = waiting.get(destination);
    if (queue === undefined) {
      waiting.set(destination, [entry]);
      void drain(destination);
    } else queue.push(entry);
  }

  async function drain(destination: string): Promise<void> {
    for (;;) {
      // Messages dispatched in this very tick belong in the first round.
      await Promise.resolve();
      const entries = waiting.get(destination) ?? [];
      if (entries.length === 0) break;
      waiting.set(destination, []);
      await round(destination, entries);
    }
    waiting.delete(destination);
  }

  async function round(destination: string, entries: Entry[]): Promise<void> {
    const guards = new Map(entries.map(({ message, guard }) => [message, guard]));
    const messages = entries.map(({ message }) => message);
    const send = destinations[destination] ?? unknownDestination;
    const results = await send(messages, (message) => passes(guards.get(message)));
    const now = clock.now();
    const decided = entries.map(({ message, done }, index) => {
      const result = results[index] ?? { kind: 'failed', error: 'the destination gave no result' };
      return { message, done, decision: decideDispatch(message, result, now) };
    });
    for (const { message, decision } of decided) {
      telemetry.count(metric.outboxDispatched, { destination, result: decision.kind });
      if (decision.kind === 'dispatched') {
        telemetry.record(metric.outboxLagMs, waitedMs(message, now), { destination });
      }
    }
    try {
      const { unclear } = await outbox.mark(decided);
      if (unclear > 0) telemetry.count(metric.outboxMarkFailed, { error: 'uncertain' }, unclear);
    } catch (error) {
      // The messages stay pending and are sent again.
      telemetry.count(metric.outboxMarkFailed, { error: error instanceof Error ? error.name : 'unknown' });
    }
    for (const { done, decision } of decided) done(decision);
  }
}

/** Its release is not ours, or its configuration is wrong. */
const unknownDestination: SendMessages = async (messages) =>
  messages.map(({ destination }) => ({
    kind: 'failed',
    error: `no destination is called "${destination}" here`,
  }));

function passes(guard: Guard | undefined): boolean {
  try {
    guard?.();
    return true;
  } catch {
    return false;
  }
}
