/**
 * Lifecycle of a message in this host:
 *   taken  – invisible to others for ten minutes, extended while its function runs
 *   done   – the function succeeded: deleted
 *   back   – it threw: visible again after `visibilityTimeout`, with a higher dequeue count
 *   poison – it threw `maxDequeueCount` times, or cannot be decoded: moved to `{queue}-poison`
 *   left   – the same in a queue that is a poison queue itself: it has none, so the message stays in it, and invisible for
 *            the rest of the ten minutes, as the real host leaves it
 */
import { type QueueClient, type QueueServiceClient, RestError } from '@azure/storage-queue';
import type { AppFunction, QueueTrigger } from '../appFunctions.ts';
import type { Clock } from '../clock.ts';
import type { QueuesOptions } from '../hostJson.ts';
import type { Invoker } from '../invoker.ts';
import type { Logger } from '../logger.ts';
import type { TriggerListener } from '../triggerListener.ts';
import { bodyData } from '../typedData.ts';
import { pollingBackoff } from './pollingBackoff.ts';
import { decodeMessage, type QueueMessage, queueTriggerMetadata } from './queueMessage.ts';

const poisonSuffix = '-poison';

/** Visibility timeout while a function runs, in seconds; extended at half-time. */
const visibilityWhileRunning = 600;

export interface QueueListenerOptions {
  fn: AppFunction<QueueTrigger>;
  service: QueueServiceClient;
  options: QueuesOptions;
  invoker: Invoker;
  logger: Logger;
  clock: Clock;
}

export function createQueueListener({
  fn,
  service,
  options,
  invoker,
  logger,
  clock,
}: QueueListenerOptions): TriggerListener {
  const { queueName, dataType } = fn.trigger;
  const queue = service.getQueueClient(queueName);
  const poison = queueName.endsWith(poisonSuffix)
    ? undefined
    : service.getQueueClient(`${queueName}${poisonSuffix}`);
  const category = `Host.Triggers.Queue.${fn.name}`;
  const source = { functionName: fn.name };
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const backoff = pollingBackoff(options.maxPollingInterval);
  let loop: Promise<void> = Promise.resolve();

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (running.size > options.newBatchThreshold) {
        await Promise.race(running);
        continue;
      }
      const messages = await receive();
      for (const message of messages) {
        const work = handle(message).finally(() => running.delete(work));
        running.add(work);
      }
      if (messages.length > 0) backoff.reset();
      else await clock.sleep(backoff.next(), stopping.signal);
    }
  }

  async function receive(): Promise<QueueMessage[]> {
    try {
      const { receivedMessageItems } = await queue.receiveMessages({
        numberOfMessages: options.batchSize,
        visibilityTimeout: visibilityWhileRunning,
      });
      return receivedMessageItems;
    } catch (error) {
      const isMissing = error instanceof RestError && error.statusCode === 404;
      if (!isMissing) {
        logger.log('warning', category, `queue ${queueName} cannot be read: ${String(error)}`, source);
      }
      return [];
    }
  }

  async function handle(message: QueueMessage): Promise<void> {
    const held = { popReceipt: message.popReceipt };
    try {
      const body = decodeMessage(message.messageText, options.messageEncoding);
      if (body === undefined) {
        const says = `message ${message.messageId} is not in the encoding of host.json`;
        logger.log('warning', category, says, source);
        return await giveUp(message, held.popReceipt);
      }
      if (poison !== undefined && message.dequeueCount > options.maxDequeueCount) {
        return await moveTo(poison, message, held.popReceipt);
      }
      if (await succeeds(message, body, held)) await queue.deleteMessage(message.messageId, held.popReceipt);
      else if (poison === undefined || message.dequeueCount >= options.maxDequeueCount)
        await giveUp(message, held.popReceipt);
      else await putBack(message, held.popReceipt);
    } catch (error) {
      logger.log(
        'warning',
        category,
        `message ${message.messageId} cannot be settled: ${String(error)}`,
        source,
      );
    }
  }

  async function succeeds(
    message: QueueMessage,
    body: Buffer,
    held: { popReceipt: string },
  ): Promise<boolean> {
    const ended = new AbortController();
    const extending = keepInvisible(message, held, ended.signal);
    try {
      await invoker.invoke(fn, {
        data: bodyData(body, dataType),
        triggerMetadata: queueTriggerMetadata(message, body),
      });
      return true;
    } catch {
      return false;
    } finally {
      ended.abort();
      await extending;
    }
  }

  /** Each extension yields a new pop receipt. */
  async function keepInvisible(
    message: QueueMessage,
    held: { popReceipt: string },
    ended: AbortSignal,
  ): Promise<void> {
    while (!ended.aborted) {
      try {
        await clock.sleep((visibilityWhileRunning * 1000) / 2, ended);
        held.popReceipt = await setVisibility(queue, message, held.popReceipt, visibilityWhileRunning);
      } catch (error) {
        if (!ended.aborted) {
          logger.log(
            'warning',
            category,
            `message ${message.messageId}: visibility timeout not extended: ${String(error)}`,
            source,
          );
        }
      }
    }
  }

  async function putBack(message: QueueMessage, popReceipt: string): Promise<void> {
    await setVisibility(queue, message, popReceipt, Math.round(options.visibilityTimeout / 1000));
  }

  async function giveUp(message: QueueMessage, popReceipt: string): Promise<void> {
    if (poison !== undefined) await moveTo(poison, message, popReceipt);
  }

  async function moveTo(poison: QueueClient, message: QueueMessage, popReceipt: string): Promise<void> {
    await poison.createIfNotExists();
    // -1: never expires; it stays until someone deals with it.
    await poison.sendMessage(message.messageText, { messageTimeToLive: -1 });
    await queue.deleteMessage(message.messageId, popReceipt);
    logger.log('warning', category, `message ${message.messageId} moved to ${poison.name}`, source);
  }

  return {
    async start() {
      loop = poll().catch((error: unknown) => {
        if (!stopping.signal.aborted)
          logger.log('error', category, `polling ended: ${String(error)}`, source);
      });
    },
    async stop() {
      stopping.abort();
      // Do not abort a poll in flight: what it took would stay invisible for ten minutes. Run it instead.
      await loop;
    },
    async close() {
      await Promise.all(running);
    },
  };
}

async function setVisibility(
  queue: QueueClient,
  { messageId }: QueueMessage,
  popReceipt: string,
  seconds: number,
): Promise<string> {
  const updated = await queue.updateMessage(messageId, popReceipt, undefined, seconds);
  return updated.popReceipt ?? popReceipt;
}
