import { type Clock, systemClock } from '@payonce/leases/clock';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { DocumentStore } from '../documents/documentStore.ts';
import type { Instance } from '../instance.ts';
import { inSpan } from '../tracing.ts';
import { workInFlight } from '../workInFlight.ts';
import { type DispatchDecision, decideDispatch, type SendResult, markDispatched } from './messageMoves.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/**
 * Sends messages to one destination in as few requests as it can; one result per message, in order. Never rejects and
 * always ends, because whatever arrives meanwhile waits for it, and so does the only sweeper.
 */
export type SendMessages = (messages: readonly OutboxMessage[]) => Promise<readonly SendResult[]>;

export interface Dispatcher {
  /**
   * Sends a message that is stored and pending, and records what became of it. Resolves when that is done, even if it
   * failed: the message then stays pending (or is parked), and the sweeper comes back to it.
   */
  dispatch(message: OutboxMessage): Promise<DispatchDecision>;
}

interface Entry {
  message: OutboxMessage;
  done: (decision: DispatchDecision) => void;
}

/**
 * A dispatcher that coalesces: while one round of sends is in flight, further messages gather, and the next round takes
 * them all. Many commits need few requests, and a single message is not delayed.
 *
 * A process that dies between the send and the mark leaves the message pending, and it is sent again. The consumer copes
 * with that, and duplicate detection on Service Bus (the message id is the batch id) usually spares it the work.
 */
export function createDispatcher({
  documents,
  destinations,
  instance: { clock = systemClock, telemetry = noTelemetry } = {},
}: {
  /** Where the messages are stored. */
  documents: DocumentStore;
  /** By the name that messages carry. */
  destinations: Readonly<Record<string, SendMessages>>;
  /** Default: the system's clock, and no telemetry. */
  instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>>;
}): Dispatcher {
  const waiting = new Map<string, Entry[]>();

  return {
    /** In a span of the trace in which the message was created, however much later and in whatever process. */
    dispatch(message) {
      const { id, destination, attempts, traceparent: parent } = message;
      const attributes = {
        'outbox.message': id,
        'outbox.destination': destination,
        'outbox.attempts': attempts,
      };
      return inSpan(
        'dispatch message',
        { kind: 'producer', attributes, parent },
        () => new Promise<DispatchDecision>((done) => enqueue({ message, done })),
        ({ kind }) => ({
          attributes: { 'outbox.result': kind },
          failed: kind === 'retry' || kind === 'parked' ? kind : undefined,
        }),
      );
    },
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
    const messages = entries.map(({ message }) => message);
    const send = destinations[destination] ?? unknownDestination;
    const results = await send(messages);
    const now = clock.now();
    const decided = entries.map(({ message, done }, index) => {
      const result = results[index] ?? { kind: 'failed', error: 'the destination gave no result' };
      return { message, done, decision: decideDispatch(message, result, now) };
    });
    for (const { message, decision } of decided) {
      telemetry.count(partMetric.outboxDispatched, { destination, result: decision.kind });
      if (decision.kind === 'dispatched') {
        const { createdAt, notBefore = createdAt } = message;
        const waitedMs = Math.max(0, now - Date.parse(notBefore));
        telemetry.record(partMetric.outboxLagMs, waitedMs, { destination });
      }
    }
    try {
      const { unclear } = await markDispatched({ documents, clock }, decided);
      if (unclear > 0) telemetry.count(partMetric.outboxMarkFailed, { error: 'uncertain' }, unclear);
    } catch (error) {
      // The messages stay pending and are sent again.
      telemetry.count(partMetric.outboxMarkFailed, {
        error: error instanceof Error ? error.name : 'unknown',
      });
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

/**
 * Sends what this process has just stored. A process that dies first leaves its messages to the sweeper, like any message that
 * is not dispatched at once.
 */
export interface Sender {
  /** Sends a message at once; see `Dispatcher.dispatch`. */
  send(message: OutboxMessage): Promise<DispatchDecision>;
  /**
   * Sends a message as soon as no urgent work is in progress in this process, and after five seconds in any case: receipts
   * wait while payments are being made.
   */
  sendWhenIdle(message: OutboxMessage): void;
  /** Marks urgent work as in progress until the result is disposed of. */
  busy(): Disposable;
  /**
   * For a process that stops: resolves when everything handed over so far has been dispatched, or after `withinMs`
   * milliseconds. The rest is then left to the sweeper.
   */
  drained(withinMs: number): Promise<void>;
}

/** Messages held in memory. The sweeper takes the rest from the store. */
const maxWaiting = 1_000;

/**
 * Longest wait for urgent work to end (ms): payments that wait for their turns can go on for hours. By then the sweeper would
 * take the messages, one by one.
 */
const longestWaitMs = 5_000;

export function createSender(dispatcher: Dispatcher, clock: Clock): Sender {
  let waiting: OutboxMessage[] = [];
  let waitingSince = 0;
  let inFlight = 0;
  const { track, ended } = workInFlight(clock);

  return {
    send,
    sendWhenIdle(message) {
      if (inFlight === 0) {
        void send(message);
        return;
      }
      const now = clock.monotonic();
      if (waiting.length === 0) waitingSince = now;
      if (waiting.length < maxWaiting) waiting.push(message);
      if (now - waitingSince >= longestWaitMs) flush();
    },
    busy() {
      inFlight++;
      return {
        [Symbol.dispose]() {
          inFlight--;
          if (inFlight === 0) flush();
        },
      };
    },
    async drained(withinMs) {
      flush();
      await ended(withinMs);
    },
  };

  function send(message: OutboxMessage): Promise<DispatchDecision> {
    return track(dispatcher.dispatch(message));
  }

  function flush(): void {
    const messages = waiting;
    waiting = [];
    for (const message of messages) void send(message);
  }
}
