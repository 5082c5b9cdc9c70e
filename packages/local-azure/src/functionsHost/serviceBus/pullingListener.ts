import { setTimeout as delay } from 'node:timers/promises';
import {
  isServiceBusError,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSessionReceiver,
} from '@azure/service-bus';
import type { TriggerListener } from '../triggerListener.ts';
import { renewLock, renewWhile } from './lockRenewal.ts';
import { batchData, batchMetadata, messageData, messageMetadata } from './serviceBusMessage.ts';
import type { ServiceBusListenerOptions } from './serviceBusTrigger.ts';

/** Pause after an error, in milliseconds. */
const pauseMs = 1_000;

/**
 * Asks for messages, instead of having them pushed: batches (`cardinality: many`) and sessions. A batch is completed as a whole
 * when its function returns, and abandoned when it throws. Within a session the messages come one after another.
 */
export function createPullingListener({
  fn,
  client,
  options,
  invoker,
  logger,
}: ServiceBusListenerOptions): TriggerListener {
  const { queueName, dataType, isSessionsEnabled, cardinality } = fn.trigger;
  const autoComplete = fn.trigger.autoCompleteMessages ?? options.autoCompleteMessages;
  const most = cardinality === 'many' ? options.maxMessageBatchSize : 1;
  const stopping = new AbortController();
  const { signal: abortSignal } = stopping;
  const receiverOptions = {
    receiveMode: 'peekLock',
    maxAutoLockRenewalDurationInMs: 0,
    skipParsingBodyAsJson: true,
  } as const;
  const plain = isSessionsEnabled ? undefined : client.createReceiver(queueName, receiverOptions);
  let loops: Promise<unknown> = Promise.resolve();

  /** The last error: one that stays is logged once. */
  let warned: string | undefined;
  function warn(what: string, error: unknown): void {
    const text = `${queueName} (${what}): ${String(error)}`;
    if (text !== warned)
      logger.log('warning', `Host.Triggers.ServiceBus.${fn.name}`, text, { functionName: fn.name });
    warned = text;
  }

  async function repeat(what: string, work: () => Promise<void>): Promise<void> {
    while (!abortSignal.aborted) {
      try {
        await work();
      } catch (error) {
        if (abortSignal.aborted || isNoSession(error)) continue;
        warn(what, error);
        await delay(pauseMs, undefined, { signal: abortSignal }).catch(() => {});
      }
    }
  }

  async function serveSession(): Promise<void> {
    const session = await client.acceptNextSession(queueName, { ...receiverOptions, abortSignal });
    try {
      using _lock = renewWhile(
        session.sessionLockedUntilUtc,
        () => session.renewSessionLock(),
        options.maxAutoLockRenewalDuration,
      );
      while (!abortSignal.aborted && (await serveBatch(session, options.sessionIdleTimeout)));
    } finally {
      await session.close();
    }
  }

  /** False if there was no message. */
  async function serveBatch(
    receiver: ServiceBusReceiver | ServiceBusSessionReceiver,
    maxWaitTimeInMs: number,
  ): Promise<boolean> {
    const messages = await receiver.receiveMessages(most, { maxWaitTimeInMs, abortSignal });
    if (messages.length === 0) return false;
    warned = undefined;
    using locks = new DisposableStack();
    if (plain !== undefined)
      for (const message of messages)
        locks.use(renewLock(plain, message, options.maxAutoLockRenewalDuration));
    const succeeded = await call(messages);
    if (!succeeded || autoComplete)
      await Promise.all(messages.map((message) => settle(receiver, message, succeeded)));
    return true;
  }

  async function call(messages: ServiceBusReceivedMessage[]): Promise<boolean> {
    const [first] = messages;
    if (first === undefined || abortSignal.aborted) return false;
    const input =
      cardinality === 'many'
        ? { data: batchData(messages, dataType), triggerMetadata: batchMetadata(messages) }
        : { data: messageData(first.body, dataType), triggerMetadata: messageMetadata(first) };
    return invoker.invoke(fn, { ...input, traceparent: first.applicationProperties?.['Diagnostic-Id'] }).then(
      () => true,
      () => false,
    );
  }

  async function settle(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    succeeded: boolean,
  ): Promise<void> {
    try {
      if (succeeded) await receiver.completeMessage(message);
      else await receiver.abandonMessage(message);
    } catch (error) {
      warn(`message ${String(message.messageId)} not settled`, error);
    }
  }

  return {
    async start() {
      loops =
        plain === undefined
          ? Promise.all(
              Array.from({ length: options.maxConcurrentSessions }, () => repeat('session', serveSession)),
            )
          : repeat('receive', async () => void (await serveBatch(plain, longestWaitMs)));
    },
    async stop() {
      stopping.abort();
    },
    async close() {
      await Promise.race([loops, delay(2_000, undefined, { ref: false })]);
      await Promise.race([plain?.close(), delay(2_000, undefined, { ref: false })]);
    },
  };
}

/** Time that one request waits for the first message (ms). */
const longestWaitMs = 60_000;

/** No session has a message: the request to accept one has timed out. */
const isNoSession = (error: unknown) => isServiceBusError(error) && error.code === 'ServiceTimeout';
