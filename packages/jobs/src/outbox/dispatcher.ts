import { type Clock, systemClock } from '@payonce/leases/clock';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { DocumentStore } from '../documents/documentStore.ts';
import type { Instance } from '../instance.ts';
import { inSpan } from '../tracing.ts';
import { workInFlight } from '../workInFlight.ts';
import { type DispatchDecision, decideDispatch, type SendResult, markDispatched } from './messageMoves.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/** Sends messages in few requests; one result each, in order. Never rejects, and always ends: a sweeper waits for it. */
export type SendMessages = (messages: readonly OutboxMessage[]) => Promise<readonly SendResult[]>;

export interface Dispatcher {
  /** Sends a stored pending message and records the result. Resolves even if that failed: the sweeper comes back to it. */
  dispatch(message: OutboxMessage): Promise<DispatchDecision>;
}

interface Entry {
  message: OutboxMessage;
  done: (decision: DispatchDecision) => void;
}

/**
 * A dispatcher that sends at once: messages dispatched in the same tick go together, and none waits for one that was dispatched
 * before it. A process that dies between send and mark leaves the message pending; it is sent again, and the consumer or
 * duplicate detection copes.
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
  /** Messages that were handed over in this tick, by destination. */
  const gathered = new Map<string, Entry[]>();

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
        () =>
          new Promise<DispatchDecision>((done) => {
            const together = gathered.get(destination);
            if (together !== undefined) together.push({ message, done });
            else {
              const entries = [{ message, done }];
              gathered.set(destination, entries);
              queueMicrotask(() => {
                gathered.delete(destination);
                void sendAll(destination, entries);
              });
            }
          }),
        ({ kind }) => ({
          attributes: { 'outbox.result': kind },
          failed: kind === 'retry' || kind === 'parked' ? kind : undefined,
        }),
      );
    },
  };

  async function sendAll(destination: string, entries: readonly Entry[]): Promise<void> {
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

/** Sends what this process has just stored. If the process dies first, the sweeper does. */
export interface Sender {
  /** Sends a message at once; see `Dispatcher.dispatch`. */
  send(message: OutboxMessage): Promise<DispatchDecision>;
  /** Sends a message once no urgent work is in progress in this process, and after five seconds in any case. */
  sendWhenIdle(message: OutboxMessage): void;
  /** Marks urgent work as in progress until the result is disposed of. */
  busy(): Disposable;
  /** Resolves when all that was handed over has been dispatched, or after `withinMs` (ms); the sweeper has the rest. */
  drained(withinMs: number): Promise<void>;
}

/** Messages held in memory. The sweeper takes the rest from the store. */
const maxWaiting = 1_000;

/** Longest wait for urgent work to end (ms). By then the sweeper would take the messages, one by one. */
const longestWaitMs = 5_000;

/** Sends messages of this process: at once, or when nothing urgent runs. Keeps at most 1,000 waiting; the sweeper has the rest. */
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
