/** The world as one machine reaches it: the app's own ports, each call of which travels over the network. */

import { RestError } from '@azure/storage-queue';
import { StoreAway } from '../../../packages/jobs/src/documents/documentStore.ts';
import { serviceBusDestination } from '../../../packages/jobs/src/outbox/serviceBusDestination.ts';
import {
  type QueueSender,
  sendToQueue,
  storageQueueDestination,
} from '../../../packages/jobs/src/outbox/storageQueueDestination.ts';
import { idOfNext } from '../../../packages/jobs/src/serviceBusHeldMessages.ts';
import { type WorkItem, workItemMessages } from '../../../packages/jobs/src/workItems/workItem.ts';
import type { Cloud } from '../../../src/cloud.ts';
import { shardsCheck } from '../../../src/invoice/shard.ts';
import type { LockRenewal } from '../../../src/paying/messageLock.ts';
import { queues as queueNames, serviceBusQueues } from '../../../src/platform/azureNames.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import { memoryArchiveBlobs, memoryArchiveStore } from '../../memory/memoryArchive.ts';
import type { MemoryDocuments } from '../../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../../memory/memoryInvoiceStore.ts';
import { memoryOutboxStore } from '../../memory/memoryOutboxStore.ts';
import type { Machine } from '../engine/machine.ts';
import { CallFailed, type Network } from '../engine/network.ts';
import { activity } from '../fleet/activity.ts';
import { messageTrustedUntil } from '../invariants/calls.ts';
import { documentsOf, type SentTransaction } from './documents.ts';
import { locksOf, type TrustedUntil } from './locks.ts';
import type { StorageQueue } from './storageQueue.ts';
import type { World } from './world.ts';

export interface CloudOfMachine {
  cloud: Cloud;
  trustedUntil: TrustedUntil;
}

export interface CloudWatch {
  /** A transaction is going to be sent. */
  onSend: (sent: SentTransaction, trustedUntil: TrustedUntil) => void;
  /** The store gave no answer to a transaction that writes these documents, or when they were read. */
  onUnanswered: (ids: readonly string[]) => void;
  /** A message is refused. */
  onRefuse: (why: string) => void;
  /** An effect is going to be recorded. */
  onRecord: (of: WorkItem | string, trustedUntil: TrustedUntil) => void;
}

export function cloudOf(
  world: World,
  machine: Machine,
  network: Network,
  settings: Settings,
  watch: CloudWatch,
): CloudOfMachine {
  const { clock } = machine;
  const { shards } = settings;
  const locks = locksOf(world.locks, machine, network);
  const documents: MemoryDocuments = documentsOf(world.documents, machine, network, {
    onSend: (sent) => watch.onSend(sent, locks.trustedUntil),
    onUnanswered: (ids) => watch.onUnanswered(ids),
    stale: {
      now: () => world.timeline.now,
      staleMs: world.staleMs,
      asOf: (document, time) => world.asOf(document, time),
    },
  });
  const cosmos = throughStore('cosmos');
  const effects = cosmos(world.effects, ['has', 'record', 'hasMessage', 'recordMessage']);
  const queue = senderTo(world.queues.workItems);
  const poisonQueue = senderTo(world.queues.poison);
  const { paymentCommands } = serviceBusQueues;
  const { commands } = world.queues;
  const sender = busSender();

  return {
    trustedUntil: locks.trustedUntil,
    cloud: {
      imports: world.imports,
      documents,
      archive: { store: memoryArchiveStore(documents), blobs: memoryArchiveBlobs(world.archived) },
      invoices: memoryInvoiceStore(documents, { clock, shards }),
      outbox: memoryOutboxStore(documents),
      lockStore: locks.store,
      pace: cosmos(world.pace, ['read', 'create', 'change']),
      pauses: cosmos(world.pauses, ['read', 'begin', 'end']),
      eventCursor: cosmos(world.cursor, ['read', 'advance']),
      runs: cosmos(world.runs, ['create', 'read', 'list', 'updateGroup', 'end']),
      effects: {
        ...effects,
        record(item, effect) {
          if (machine.alive) watch.onRecord(item, locks.trustedUntil);
          return effects.record(item, effect);
        },
        recordMessage(id, done) {
          if (machine.alive) watch.onRecord(id, locks.trustedUntil);
          return effects.recordMessage(id, done);
        },
      },
      poison: cosmos(world.poison, [
        'keepFailure',
        'lastFailure',
        'create',
        'list',
        'waiting',
        'find',
        'isUnchanged',
        'markDiscarded',
        'markRedriven',
      ]),
      audit: cosmos(world.audit, ['append', 'list']),
      journal: {
        append: (lines) =>
          network.call(machine, 'blobs', 'journal', () => void world.journal.lines.push(...lines)),
      },
      receipts: {
        write: (name, _json, signal) =>
          network.call(
            machine,
            'blobs',
            'write receipt',
            () => void world.receipts.set(name, (world.receipts.get(name) ?? 0) + 1),
            signal,
          ),
      },
      destinations: {
        [paymentCommands]: serviceBusDestination(sender),
        [queueNames.workItems]: storageQueueDestination(queue, { messagesOf: workItemMessages }),
      },
      commandMessages: {
        deadLetter(token, { reason, description }) {
          watch.onRefuse(`${reason}: ${description}`);
          return bus('dead-letter', () => void commands.deadLetter(token, `${reason}: ${description}`));
        },
        async renew(token) {
          const askedAt = clock.monotonic();
          const { command } = activity() ?? {};
          if (command !== undefined && command.askedAt === undefined) command.askedAt = askedAt;
          const answer = await bus('renew', (): LockRenewal => {
            const until = commands.renew(token);
            return until === undefined ? { kind: 'lost' } : { kind: 'renewed', until };
          });
          if (command !== undefined) {
            command.trustedUntil = answer.kind === 'lost' ? askedAt : messageTrustedUntil(askedAt);
            command.askedAt = null;
          }
          return answer;
        },
        sendAgain: (message, delayMs, messageId) => {
          const id = messageId === undefined ? crypto.randomUUID() : idOfNext(messageId);
          return bus('send again', () => commands.send(id, message, delayMs));
        },
      },
      workItems: {
        name: queueNames.workItems,
        send: (text) => sendToQueue(queue, text),
        sendAgain: (message, delayMs) => sendToQueue(queue, JSON.stringify(message), { delayMs }),
        putBack: (message, delayMs) => sendToQueue(poisonQueue, JSON.stringify(message), { delayMs }),
      },
      deadLetters: [
        {
          name: paymentCommands,
          owns: (id) => !id.startsWith('poison:'),
          list: async (limit, behind = '-1') =>
            commands.deadLetters
              .map(({ id, reason, at, text }, place) => ({
                id,
                source: paymentCommands,
                reason,
                at: new Date(at).toISOString(),
                body: text,
                place: String(place),
              }))
              .slice(Number(behind) + 1)
              .slice(0, limit),
          async *discard(ids) {
            for (const one of commands.deadLetters.filter(({ id }) => ids.has(id))) {
              await bus('discard', () => {
                commands.deadLetters = commands.deadLetters.filter((other) => other !== one);
              });
              yield { kind: 'moved', id: one.id };
            }
          },
          async *redrive(ids) {
            for (const one of commands.deadLetters.filter(({ id }) => ids.has(id))) {
              await bus('redrive', () => {
                commands.repeat(one.text, 0);
                commands.deadLetters = commands.deadLetters.filter((other) => other !== one);
              });
              yield { kind: 'moved', id: one.id };
            }
          },
        },
      ],
      healthChecks: [],
      checkShards: shardsCheck(documents, shards),
      async close() {},
    },
  };

  function bus<T>(name: string, effect: () => T): Promise<T> {
    return network.call(machine, 'serviceBus', name, effect);
  }

  /** As much of a sender as the destination uses: a batch, and its sending. */
  function busSender(): Parameters<typeof serviceBusDestination>[0] {
    interface Sent {
      messageId: string;
      body: unknown;
    }
    const batches = new WeakMap<object, Sent[]>();
    const fake = {
      async createMessageBatch() {
        const messages: Sent[] = [];
        const batch = { tryAddMessage: (message: Sent) => messages.push(message) <= 100 };
        batches.set(batch, messages);
        return batch;
      },
      sendMessages: (batch: object, options: { abortSignal?: AbortSignal } = {}) =>
        network.call(
          machine,
          'serviceBus',
          'send',
          () => {
            for (const { messageId, body } of batches.get(batch) ?? []) commands.send(messageId, body);
          },
          options.abortSignal,
        ),
    };
    return fake as unknown as Parameters<typeof serviceBusDestination>[0];
  }

  function senderTo(to: Pick<StorageQueue, 'put'>): QueueSender {
    return {
      sendMessage: (text, options = {}) =>
        throughQueue(() => {
          const decoded = Buffer.from(text, 'base64').toString();
          to.put(decoded, (options.visibilityTimeout ?? 0) * 1000);
        }, options.abortSignal) as ReturnType<QueueSender['sendMessage']>,
    };
  }

  async function throughQueue(effect: () => void, signal: unknown): Promise<unknown> {
    try {
      const given = signal instanceof AbortSignal ? signal : undefined;
      return await network.call(machine, 'storageQueue', 'send', effect, given);
    } catch (error) {
      throw error instanceof CallFailed ? new RestError(error.message) : error;
    }
  }

  /** The same port, whose methods travel. A failure on the way is the store's. */
  function throughStore(service: 'cosmos') {
    return <Port extends object, Name extends keyof Port & string>(
      port: Port,
      names: readonly Name[],
    ): Pick<Port, Name> => {
      const travelling = names.map((name) => {
        const method = port[name] as (...given: unknown[]) => Promise<unknown>;
        const call = (...given: unknown[]) =>
          network
            .call(machine, service, name, () => method.apply(port, given))
            .catch((error: unknown) => {
              throw storeError(error);
            });
        return [name, call] as const;
      });
      return Object.fromEntries(travelling) as unknown as Pick<Port, Name>;
    };
  }
}

function storeError(error: unknown): unknown {
  if (!(error instanceof CallFailed)) return error;
  return new StoreAway(error.reason === 'denied' ? 'accessDenied' : 'noAnswer', error);
}
