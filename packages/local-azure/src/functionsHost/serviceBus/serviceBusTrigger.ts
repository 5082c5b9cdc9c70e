import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus';
import pLimit from 'p-limit';
import type { AppFunction, ServiceBusTrigger } from '../appFunctions.ts';
import type { ServiceBusOptions } from '../hostJson.ts';
import type { Invoker } from '../invoker.ts';
import type { Logger } from '../logger.ts';
import type { TriggerListener } from '../triggerListener.ts';
import { renewLock } from './lockRenewal.ts';
import { messageData, messageMetadata } from './serviceBusMessage.ts';

export interface ServiceBusListenerOptions {
  fn: AppFunction<ServiceBusTrigger>;
  client: ServiceBusClient;
  options: ServiceBusOptions;
  invoker: Invoker;
  logger: Logger;
}

/**
 * Receives in peek-lock mode and runs `maxConcurrentCalls` at a time. Completes a message when its function
 * returns (unless autoCompleteMessages is off), abandons it when the function throws. Renews the lock while
 * the function runs, for at most `maxAutoLockRenewalDuration`. Settling is not part of the call: a settlement
 * that hangs on a broken connection would keep the next messages waiting, their locks renewed over and over.
 */
export function createServiceBusListener(listener: ServiceBusListenerOptions): TriggerListener {
  const { fn, client, options, invoker, logger } = listener;
  const { queueName, dataType } = fn.trigger;
  const autoComplete = fn.trigger.autoCompleteMessages ?? options.autoCompleteMessages;
  const category = `Host.Triggers.ServiceBus.${fn.name}`;
  const source = { functionName: fn.name };
  const receiver = client.createReceiver(queueName, {
    receiveMode: 'peekLock',
    maxAutoLockRenewalDurationInMs: 0,
    // The programming model gets the bytes and parses them once.
    skipParsingBodyAsJson: true,
  });
  // The SDK's receiver has no prefetch: messages fetched ahead wait here for a free slot, locks renewed.
  const calls = pLimit(options.maxConcurrentCalls);
  const unsettled = new Set<Promise<void>>();
  let subscription: { close(): Promise<void> } | undefined;
  let stopping = false;
  /** The last error: one that stays is logged once. */
  let warned: string | undefined;

  async function call(message: ServiceBusReceivedMessage): Promise<'succeeded' | 'failed'> {
    if (stopping) return 'failed';
    try {
      warned = undefined;
      await invoker.invoke(fn, {
        data: messageData(message.body, dataType),
        triggerMetadata: messageMetadata(message),
        traceparent: message.applicationProperties?.['Diagnostic-Id'],
      });
      return 'succeeded';
    } catch {
      return 'failed';
    }
  }

  async function settle(message: ServiceBusReceivedMessage, outcome: 'succeeded' | 'failed'): Promise<void> {
    try {
      if (outcome === 'failed') await receiver.abandonMessage(message);
      else if (autoComplete) await receiver.completeMessage(message);
    } catch (error) {
      logger.log(
        'warning',
        category,
        `message ${String(message.messageId)} not settled: ${String(error)}`,
        source,
      );
    }
  }

  return {
    async start() {
      subscription = receiver.subscribe(
        {
          async processMessage(message) {
            using _lock = renewLock(receiver, message, options.maxAutoLockRenewalDuration);
            const called = calls(() => call(message));
            const work = called
              .then((outcome) => settle(message, outcome))
              .finally(() => unsettled.delete(work));
            unsettled.add(work);
            await called;
          },
          async processError({ error, errorSource }) {
            // Between two of a kind the SDK reports one silently.
            if (stopping || error.message === '' || warned === error.message) return;
            warned = error.message;
            logger.log('warning', category, `${queueName} (${errorSource}): ${error.message}`, source);
          },
        },
        {
          autoCompleteMessages: false,
          maxConcurrentCalls: options.maxConcurrentCalls + options.prefetchCount,
        },
      );
    },
    async stop() {
      stopping = true;
      // Closing a subscription drains its link, which can hang on a dead connection.
      await Promise.race([subscription?.close(), delay(2_000, undefined, { ref: false })]);
    },
    async close() {
      await Promise.race([Promise.all(unsettled), delay(2_000, undefined, { ref: false })]);
      await Promise.race([receiver.close(), delay(2_000, undefined, { ref: false })]);
    },
  };
}
