import type { Container, OperationInput } from '@azure/cosmos';
import { maxOperations, transact } from '../documents/transact.ts';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import { type DispatchDecision, decideDispatch, dispatchPatches, type SendResult } from './decideDispatch.ts';
import { type Destination, type OutboxMessage, waitedMs } from './outboxMessage.ts';

/**
 * Sends messages to one destination in as few requests as it can; one result per message, in order. Never rejects, and
 * always ends: what comes meanwhile waits for it, the sweeper of all instances too.
 *
 * `mayGo` is asked about each message as late as the destination can, with Service Bus in the moment before the send, when
 * connections are open and nothing is left to wait for: where it says no the message is withheld.
 */
export type SendMessages = (
  messages: readonly OutboxMessage[],
  mayGo?: (message: OutboxMessage) => boolean,
) => Promise<readonly SendResult[]>;

/** Throws when the sender may not act any more, because its lease is gone. */
export type Guard = () => void;

export interface Dispatcher {
  /**
   * Sends a message that is stored and pending, and writes down what became of it. Resolves when that is done, also
   * when it failed: then the message stays pending (or is parked) and the sweeper comes back to it.
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
 * them all. Many commits, few requests, and no delay where there is little to do.
 *
 * A process that dies between the send and the mark leaves the message pending, and it is sent again: the consumer copes
 * with that, and duplicate detection on Service Bus (the message id is the batch id) mostly spares it the work.
 */
export function createDispatcher({
  container,
  destinations,
  clock,
  telemetry,
}: {
  container: Container;
  destinations: Record<Destination, SendMessages>;
  clock: Clock;
  telemetry: Telemetry;
}): Dispatcher {
  const waiting = new Map<Destination, Entry[]>();

  return {
    dispatch(message, guard = () => {}) {
      return new Promise((done) => {
        const entry = { message, guard, done };
        const queue = waiting.get(message.destination);
        if (queue !== undefined) {
          queue.push(entry);
          return;
        }
        waiting.set(message.destination, [entry]);
        void drain(message.destination);
      });
    },
  };

  async function drain(destination: Destination): Promise<void> {
    for (;;) {
      // What is dispatched in this very tick shall be in the first round.
      await Promise.resolve();
      const entries = waiting.get(destination) ?? [];
      if (entries.length === 0) break;
      waiting.set(destination, []);
      await round(destination, entries);
    }
    waiting.delete(destination);
  }

  async function round(destination: Destination, entries: Entry[]): Promise<void> {
    const guards = new Map(entries.map(({ message, guard }) => [message, guard]));
    const messages = entries.map(({ message }) => message);
    const results = await destinations[destination](messages, (message) => passes(guards.get(message)));
    const now = clock.now();
    const decided = entries.map((entry, index) => {
      const result = results[index] ?? { kind: 'failed', error: 'the destination gave no result' };
      return { entry, decision: decideDispatch(entry.message, result, now) };
    });
    for (const { entry, decision } of decided) {
      telemetry.count(metric.outboxDispatched, { destination, result: decision.kind });
      if (decision.kind === 'dispatched') {
        telemetry.record(metric.outboxLagMs, waitedMs(entry.message, now), { destination });
      }
    }
    await Promise.all([...byShard(decided)].map(([shard, group]) => mark(shard, group)));
    for (const { entry, decision } of decided) entry.done(decision);
  }

  /** Writes the decisions down; where that fails, the message stays pending and will be sent again. */
  async function mark(shard: string, decided: Decided[]): Promise<void> {
    for (let start = 0; start < decided.length; start += maxOperations) {
      const part = decided.slice(start, start + maxOperations).flatMap(markOperation);
      if (part.length === 0) continue;
      try {
        const answer = await transact(container, shard, part);
        if (answer.kind === 'uncertain') telemetry.count(metric.outboxMarkFailed, { error: 'uncertain' });
        // One of them was marked by somebody else meanwhile: the others each go alone.
        if (answer.kind === 'refused' && part.length > 1) {
          for (const operation of part) await transact(container, shard, [operation]);
        }
      } catch (error) {
        telemetry.count(metric.outboxMarkFailed, { error: error instanceof Error ? error.name : 'unknown' });
      }
    }
  }
}

interface Decided {
  entry: Entry;
  decision: DispatchDecision;
}

function byShard(decided: readonly Decided[]): Map<string, Decided[]> {
  return Map.groupBy(decided, ({ entry }) => entry.message.shard);
}

function passes(guard: Guard | undefined): boolean {
  try {
    guard?.();
    return true;
  } catch {
    return false;
  }
}

function markOperation({ entry: { message }, decision }: Decided): OperationInput[] {
  const operations = dispatchPatches(decision);
  if (operations.length === 0) return [];
  return [
    {
      operationType: 'Patch',
      id: message.id,
      resourceBody: {
        condition: `from c where c.status = 'pending' and c.attempts = ${message.attempts}`,
        operations,
      },
    },
  ];
}
