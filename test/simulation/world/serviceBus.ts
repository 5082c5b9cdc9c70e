/**
 * A Service Bus queue: peek-lock, duplicate detection, scheduled messages, dead letters. A message is delivered at least once,
 * in no order that anybody may rely on. The host that has a message renews its lock for five minutes.
 */
import type { Timeline } from '../engine/machine.ts';

export interface BusMessage {
  readonly sequence: number;
  readonly messageId: string;
  /** JSON, as it was sent. */
  readonly text: string;
  /** When it was sent, by the broker's clock. */
  readonly sentAt: number;
  deliveryCount: number;
  /** Of its present delivery; undefined while nobody has it. */
  lock: { token: string; until: number } | undefined;
}

export interface ServiceBusQueue {
  /** Duplicates within five minutes are dropped, as in infra/modules/serviceBus.bicep. */
  send(messageId: string, body: unknown, delayMs?: number): void;
  /** Returns true if the lock was still held: otherwise the message is, or will be, delivered again. */
  complete(token: string): boolean;
  abandon(token: string): boolean;
  /** Renews the lock. Returns the time until which it is held now (ms); undefined if it was lost. */
  renew(token: string): number | undefined;
  deadLetter(token: string, reason: string): boolean;
  /** Delivers a copy that duplicate detection did not see. */
  repeat(text: string, delayMs: number): void;
  messages(): readonly BusMessage[];
  /** Somebody else takes it. */
  take(message: BusMessage): void;
  deadLetters: { id: string; reason: string; text: string; at: number }[];
}

const duplicatesMs = 300_000;
export const busLockMs = 60_000;
const mostDeliveries = 10;

export function serviceBusQueue(
  timeline: Timeline,
  {
    deliver,
    lateness,
    comesTwice,
  }: {
    /** Hands a message to a host; false if none takes it now. */
    deliver: (message: BusMessage, token: string) => boolean;
    /** Extra delay of a message (ms), besides the one it was sent with. */
    lateness: () => number;
    /** True if the message that was just sent comes twice. */
    comesTwice: () => boolean;
  },
): ServiceBusQueue & { offer(): void } {
  const messages = new Map<number, BusMessage>();
  const byToken = new Map<string, BusMessage>();
  const seen = new Map<string, number>();
  const waiting = new Set<BusMessage>();
  let sequence = 0;
  let locks = 0;

  const queue: ServiceBusQueue & { offer(): void } = {
    deadLetters: [],
    send(messageId, body, delayMs = 0) {
      const before = seen.get(messageId);
      if (before !== undefined && timeline.now - before < duplicatesMs) return;
      seen.set(messageId, timeline.now);
      const text = JSON.stringify(body);
      enqueue(messageId, text, delayMs);
      if (comesTwice()) queue.repeat(text, delayMs);
    },
    repeat: (text, delayMs) => enqueue(`again-${sequence}`, text, delayMs),
    complete(token) {
      const message = held(token);
      if (message === undefined) return false;
      remove(message);
      return true;
    },
    abandon(token) {
      const message = held(token);
      if (message === undefined) return false;
      release(message);
      return true;
    },
    renew(token) {
      const message = held(token);
      if (message?.lock === undefined) return undefined;
      message.lock.until = timeline.now + busLockMs;
      return message.lock.until;
    },
    deadLetter(token, reason) {
      const message = held(token);
      if (message === undefined) return false;
      remove(message);
      bury(message, reason);
      return true;
    },
    messages: () => [...messages.values()],
    take: (message) => remove(message),
    /** Tries again to hand over what waits: a host has room. */
    offer() {
      for (const message of waiting) {
        if (!hand(message)) break;
        waiting.delete(message);
      }
    },
  };
  return queue;

  function enqueue(messageId: string, text: string, delayMs: number): void {
    const sentAt = timeline.now + delayMs;
    const message: BusMessage = {
      sequence: sequence++,
      messageId,
      text,
      sentAt,
      deliveryCount: 0,
      lock: undefined,
    };
    messages.set(message.sequence, message);
    appear(message, delayMs);
  }

  function appear(message: BusMessage, delayMs: number): void {
    timeline.events.add(timeline.now + Math.ceil(delayMs) + lateness(), () => {
      timeline.running = undefined;
      if (messages.has(message.sequence) && !hand(message)) waiting.add(message);
    });
  }

  function hand(message: BusMessage): boolean {
    const token = `lock-${locks}`;
    message.lock = { token, until: timeline.now + busLockMs };
    byToken.set(token, message);
    message.deliveryCount++;
    if (!deliver(message, token)) {
      message.deliveryCount--;
      byToken.delete(token);
      message.lock = undefined;
      return false;
    }
    locks++;
    watch(message, token);
    return true;
  }

  /** Frees the message once its lock has run out. */
  function watch(message: BusMessage, token: string): void {
    const until = message.lock?.until ?? 0;
    timeline.events.add(until, () => {
      timeline.running = undefined;
      if (message.lock?.token !== token || !messages.has(message.sequence)) return;
      if (message.lock.until > timeline.now) watch(message, token);
      else release(message);
    });
  }

  function release(message: BusMessage): void {
    if (message.lock !== undefined) byToken.delete(message.lock.token);
    message.lock = undefined;
    if (message.deliveryCount < mostDeliveries) {
      appear(message, 0);
      return;
    }
    messages.delete(message.sequence);
    bury(message, 'MaxDeliveryCountExceeded');
  }

  function held(token: string): BusMessage | undefined {
    const message = byToken.get(token);
    return message?.lock?.token === token && message.lock.until > timeline.now ? message : undefined;
  }

  function remove(message: BusMessage): void {
    messages.delete(message.sequence);
    waiting.delete(message);
    if (message.lock !== undefined) byToken.delete(message.lock.token);
  }

  function bury({ messageId, text }: BusMessage, reason: string): void {
    queue.deadLetters.push({ id: messageId, reason, text, at: timeline.now });
  }
}
