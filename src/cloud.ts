import type { DeadLetterSource } from '@payonce/jobs/dead-letters';
import { serviceBusDeadLetters } from '@payonce/jobs/dead-letters/service-bus';
import { type DocumentStore, unreadableReport } from '@payonce/jobs/documents';
import { cosmosDocuments } from '@payonce/jobs/documents/cosmos';
import { heldMessages } from '@payonce/jobs/held-messages/service-bus';
import type { Instance } from '@payonce/jobs/instance';
import type { OutboxStore, SendMessages } from '@payonce/jobs/outbox';
import { cosmosOutboxStore } from '@payonce/jobs/outbox/cosmos';
import { serviceBusDestination } from '@payonce/jobs/outbox/service-bus';
import { sendToQueue, storageQueueDestination } from '@payonce/jobs/outbox/storage-queue';
import type { PaceStore, PauseStore } from '@payonce/jobs/rate';
import { cosmosPaceStore, cosmosPauseStore } from '@payonce/jobs/rate/cosmos';
import type { RunStore } from '@payonce/jobs/runs';
import { cosmosRunStore } from '@payonce/jobs/runs/cosmos';
import { type Effects, type PoisonStore, type SendAgain, workItemMessages } from '@payonce/jobs/work-items';
import { cosmosEffects, cosmosPoisonStore } from '@payonce/jobs/work-items/cosmos';
import type { LockStore } from '@payonce/leases';
import { blobReceipts } from './after/blobReceipts.ts';
import { cosmosEventCursor } from './after/cosmosEventCursor.ts';
import type { EventCursor } from './after/readEventList.ts';
import type { ReceiptStore } from './after/receipts.ts';
import type { ArchivePorts } from './archive/archiving.ts';
import { blobArchive } from './archive/blobArchive.ts';
import { cosmosArchiveStore } from './archive/cosmosArchiveStore.ts';
import { blobImportRecords } from './importing/blobImportRecords.ts';
import type { ImportRecords } from './importing/importRecords.ts';
import { shardsCheck } from './invoice/shard.ts';
import { cosmosInvoiceStore } from './invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from './invoice/store/invoiceStore.ts';
import type { OpenLocks } from './lockStores.ts';
import type { AuditTrail, Journal } from './ops/auditTrail.ts';
import { blobJournal } from './ops/blobJournal.ts';
import { cosmosAudit } from './ops/cosmosAudit.ts';
import type { HealthCheck } from './ops/health.ts';
import type { HeldMessages } from './paying/messageLock.ts';
import { azureClients } from './platform/azureClients.ts';
import { blobContainers, queues, serviceBusQueues } from './platform/azureNames.ts';
import type { Connections } from './platform/connections.ts';

/** Everything outside the process that the app works with, as the ports that its parts ask for. */
export interface Cloud {
  /** Documents of the invoices, and what one transaction writes with them. */
  documents: DocumentStore;
  invoices: InvoiceStore;
  outbox: OutboxStore;
  lockStore: LockStore;
  pace: PaceStore;
  pauses: PauseStore;
  eventCursor: EventCursor;
  runs: RunStore;
  effects: Effects;
  poison: PoisonStore;
  audit: AuditTrail;
  journal: Journal;
  receipts: ReceiptStore;
  imports: ImportRecords;
  archive: ArchivePorts;
  /** Where the outbox sends to, by the name that its messages carry. */
  destinations: Readonly<Record<string, SendMessages>>;
  /** Messages of the queue of payment commands, once the host has handed them over. */
  commandMessages: HeldMessages;
  workItems: { name: string; send(text: string): Promise<void>; sendAgain: SendAgain; putBack: SendAgain };
  deadLetters: readonly DeadLetterSource[];
  healthChecks: readonly HealthCheck[];
  /** @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
  close(): Promise<void>;
}

/** Azure: Cosmos DB, Blob and Queue Storage, Service Bus. One per process, because the clients keep their connections. */
export function azureCloud(
  settings: Connections & { shards: number },
  instance: Instance,
  openLocks: OpenLocks,
): Cloud {
  const { clock } = instance;
  const { shards } = settings;
  const clients = azureClients(settings);
  const { containers, blobs, queues: storageQueues, serviceBus, sender, close } = clients;
  const documents = cosmosDocuments(containers.invoices);
  const onUnreadable = unreadableReport(instance);
  const checkShards = shardsCheck(documents, shards);
  const lockBlobs = blobs.getContainerClient(blobContainers.locks);
  const lockStore = openLocks({ ...clients, blobs: lockBlobs, container: containers.locks });
  const workItems = storageQueues.getQueueClient(queues.workItems);
  const poisonItems = storageQueues.getQueueClient(queues.workItemsPoison);
  const { paymentCommands } = serviceBusQueues;
  const commands = sender(paymentCommands);

  return {
    documents,
    invoices: cosmosInvoiceStore(containers.invoices, { clock, shards, onUnreadable }),
    outbox: cosmosOutboxStore(containers.invoices, { onUnreadable }),
    lockStore,
    pace: cosmosPaceStore(containers.pace),
    pauses: cosmosPauseStore(containers.pace),
    eventCursor: cosmosEventCursor(containers.pace),
    runs: cosmosRunStore(containers.runs, onUnreadable),
    effects: cosmosEffects(containers.workItems),
    poison: cosmosPoisonStore(containers.workItems, onUnreadable),
    audit: cosmosAudit(containers.audit, clock, onUnreadable),
    journal: blobJournal(blobs.getContainerClient(blobContainers.changes), instance),
    imports: blobImportRecords(blobs.getContainerClient(blobContainers.imports), clock),
    archive: {
      store: cosmosArchiveStore(containers.invoices),
      blobs: blobArchive(blobs.getContainerClient(blobContainers.archive)),
    },
    receipts: blobReceipts(blobs.getContainerClient(blobContainers.receipts)),
    destinations: {
      [paymentCommands]: serviceBusDestination(commands),
      [queues.workItems]: storageQueueDestination(workItems, { messagesOf: workItemMessages }),
    },
    commandMessages: heldMessages(serviceBus.createReceiver(paymentCommands), commands),
    workItems: {
      name: workItems.name,
      send: (text) => sendToQueue(workItems, text),
      sendAgain: (message, delayMs) => sendToQueue(workItems, JSON.stringify(message), { delayMs }),
      putBack: (message, delayMs) => sendToQueue(poisonItems, JSON.stringify(message), { delayMs }),
    },
    deadLetters: [serviceBusDeadLetters(serviceBus, paymentCommands)],
    healthChecks: [
      {
        name: 'cosmos',
        probe: (abortSignal) => containers.invoices.item('health', '00').read({ abortSignal }),
      },
      { name: 'shards', probe: checkShards },
      { name: 'storage', probe: (abortSignal) => lockBlobs.getProperties({ abortSignal }) },
      // A store that only holders can look at is not asked.
      {
        name: 'locks',
        probe: async (signal) => lockStore.traits.looks === 'anyone' && lockStore.look('health', signal),
      },
      { name: 'serviceBus', probe: (abortSignal) => commands.createMessageBatch({ abortSignal }) },
    ],
    checkShards,
    async close() {
      await lockStore[Symbol.asyncDispose]();
      await close();
    },
  };
}
