import { ErrorResponse } from '@azure/cosmos';
import { z } from 'zod';
import { readFigures } from '../../local/start/figures.ts';
import { itemsOf } from '../../packages/jobs/src/workItems/workItem.ts';
import { queues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { listReceipts, queueLength, readQueueCounts } from '../support/audit.ts';
import type { LocalCloud } from '../support/localCloud.ts';

const outboxSchema = z.looseObject({ id: z.string(), shard: z.string(), body: z.json() });

const longAgo = '2025-01-01T00:00:00.000Z';

export type CloudView = ReturnType<typeof viewOf>;

/** Reads the state of invoices in the cloud, by the prefix of their ids, and that of messages. */
export function viewOf(cloud: LocalCloud) {
  const figures = () => readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments });

  async function invoicesOf(prefix: string) {
    return (await figures()).invoices.filter(({ id }) => id.startsWith(`${prefix}-`));
  }

  /** Counts the invoices of each status that occurs. */
  async function statusesOf(prefix: string): Promise<Record<string, number>> {
    return countsOf((await invoicesOf(prefix)).map(({ status }) => status));
  }

  /** Counts the invoices that each instance has settled as paid. */
  async function paidBy(prefix: string): Promise<Record<string, number>> {
    const entries = (await invoicesOf(prefix)).flatMap(({ timeline }) => timeline);
    return countsOf(entries.filter(({ what }) => what === 'paid').map(({ by }) => by));
  }

  const container = () => cloud.cosmosClient.database(databaseName).container(containers.invoices.name);

  async function documentsWhere(condition: string): Promise<Record<string, unknown>[]> {
    const { resources } = await container().items.query(`SELECT * FROM c WHERE ${condition}`).fetchAll();
    return z.array(z.record(z.string(), z.unknown())).parse(resources);
  }

  async function versionsOf(prefix: string): Promise<unknown[]> {
    const documents = await documentsWhere(`c.type = 'invoice' AND STARTSWITH(c.id, '${prefix}-')`);
    return [...new Set(documents.map(({ version }) => version))];
  }

  /** The batches that hold claims of the invoices. */
  async function batchesOf(prefix: string): Promise<string[]> {
    const documents = await documentsWhere(`c.type = 'invoice' AND STARTSWITH(c.id, '${prefix}-')`);
    const claimed = z.array(z.object({ claim: z.object({ batchId: z.string() }) })).parse(documents);
    return [...new Set(claimed.map(({ claim }) => claim.batchId))];
  }

  async function outboxMessage(id: string): Promise<z.infer<typeof outboxSchema> | undefined> {
    const [message] = await documentsWhere(`c.type = 'outboxMessage' AND c.id = '${id}'`);
    return message === undefined ? undefined : outboxSchema.parse(message);
  }

  /** Makes a message with receipts of these invoices pending, as if its sender had died before the mark. Returns its id. */
  async function undoDispatch(prefix: string): Promise<string> {
    const receipts = await documentsWhere(
      `c.type = 'outboxMessage' AND c.destination = '${queues.workItems}'`,
    );
    const messages = z.array(outboxSchema).parse(receipts);
    const message = messages.find(({ body }) => JSON.stringify(body).includes(`"${prefix}-`));
    if (message === undefined) throw new Error(`no receipts of ${prefix} have been ordered`);
    await container()
      .item(message.id, message.shard)
      .patch([
        { op: 'set', path: '/status', value: 'pending' },
        { op: 'set', path: '/attempts', value: 0 },
        { op: 'set', path: '/nextAttemptAt', value: longAgo },
      ]);
    return message.id;
  }

  async function faultHits(): Promise<number> {
    const answer = await fetch(`${cloud.payments}/_local/faults`);
    const faults = z.array(z.object({ hits: z.number() })).parse(await answer.json());
    return faults.reduce((sum, { hits }) => sum + hits, 0);
  }

  const workItems = () => cloud.queues.getQueueClient(queues.workItems);

  /** Work items that a host could take now, and the messages that carry them, at most 32. */
  async function visibleWorkItems(): Promise<{ messages: number; items: number }> {
    const { peekedMessageItems } = await workItems().peekMessages({ numberOfMessages: 32 });
    const items = peekedMessageItems.flatMap(({ messageText }) => {
      const message: unknown = JSON.parse(Buffer.from(messageText, 'base64').toString());
      return itemsOf(message) ?? [message];
    });
    return { messages: peekedMessageItems.length, items: items.length };
  }

  /** Makes pending outbox messages due. The sweeper leaves a new one for 10 s to the instance that wrote it. */
  async function makeOutboxDue(): Promise<void> {
    const pending = await documentsWhere(`c.type = 'outboxMessage' AND c.status = 'pending'`);
    for (const { id, shard } of z.array(outboxSchema).parse(pending)) {
      const operations = [{ op: 'set' as const, path: '/nextAttemptAt', value: longAgo }];
      const condition = `from c where c.status = 'pending'`;
      try {
        await container().item(id, shard).patch({ operations, condition });
      } catch (error) {
        // A host has dispatched it meanwhile.
        if (!(error instanceof ErrorResponse) || error.code !== 412) throw error;
      }
    }
  }

  return {
    figures,
    statusesOf,
    paidBy,
    versionsOf,
    batchesOf,
    outboxMessage,
    undoDispatch,
    commandStats: () => readQueueCounts(cloud),
    faultHits,
    visibleWorkItems,
    queuedWorkItems: () => queueLength(cloud, queues.workItems),
    receiptsOf: (prefix: string) => listReceipts(cloud, prefix),
    makeOutboxDue,
  };
}

function countsOf(values: readonly string[]): Record<string, number> {
  const groups = Map.groupBy(values, (value) => value);
  return Object.fromEntries([...groups].map(([value, same]) => [value, same.length]));
}
