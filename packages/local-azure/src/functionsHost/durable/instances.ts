/** The table `{hub}Instances`: one row per instance with what status queries show. */
import { odata, RestError, type TableEntity } from '@azure/data-tables';
import { z } from 'zod';
import type { LargeTexts } from './largeText.ts';
import { type TaskHub, tableKey } from './taskHub.ts';
import { unlessStatus } from './unlessStatus.ts';

export const runtimeStatus = z.enum([
  'Pending',
  'Running',
  'Suspended',
  'Completed',
  'Failed',
  'Terminated',
  'ContinuedAsNew',
  'Canceled',
]);
export type RuntimeStatus = z.infer<typeof runtimeStatus>;

export interface Instance {
  instanceId: string;
  executionId: string;
  name: string;
  runtimeStatus: RuntimeStatus;
  /** ISO 8601. */
  createdTime: string;
  lastUpdatedTime: string;
  /** JSON texts. */
  input: string | null;
  output: string | null;
  customStatus: string | null;
}

export interface InstanceFilter {
  prefix?: string | undefined;
  createdFrom?: Date | undefined;
  createdTo?: Date | undefined;
  statuses?: RuntimeStatus[] | undefined;
}

export interface InstanceTable {
  read(instanceId: string): Promise<(Instance & { etag: string }) | undefined>;
  /** Writes the row if it still has `etag`, or is still absent. False if another write came first. */
  claim(instance: Instance, etag: string | undefined): Promise<boolean>;
  write(instance: Instance): Promise<void>;
  list(
    filter: InstanceFilter,
    page?: { size?: number; continuation?: string | undefined },
  ): Promise<{ instances: Instance[]; continuation: string | undefined }>;
  remove(instanceId: string): Promise<void>;
}

const instanceRow = z.object({
  InstanceId: z.string(),
  ExecutionId: z.string(),
  Name: z.string(),
  RuntimeStatus: runtimeStatus,
  CreatedTime: z.coerce.date(),
  LastUpdatedTime: z.coerce.date(),
  Input: z.string().optional(),
  InputBlobName: z.string().optional(),
  Output: z.string().optional(),
  OutputBlobName: z.string().optional(),
  CustomStatus: z.string().optional(),
  etag: z.string(),
});

const maximumCharacters = 30_000;

export function isOver(status: RuntimeStatus): boolean {
  return ['Completed', 'Failed', 'Terminated', 'Canceled'].includes(status);
}

export function instanceTable({ instances }: TaskHub, large: LargeTexts): InstanceTable {
  async function toRow(instance: Instance): Promise<TableEntity> {
    const texts: Record<string, string> = {};
    for (const [name, text] of [
      ['Input', instance.input],
      ['Output', instance.output],
    ] as const) {
      if (text === null) continue;
      if (text.length <= maximumCharacters) texts[name] = text;
      else texts[`${name}BlobName`] = await large.put(instance.instanceId, text);
    }
    return {
      partitionKey: tableKey(instance.instanceId),
      rowKey: '',
      InstanceId: instance.instanceId,
      ExecutionId: instance.executionId,
      Name: instance.name,
      RuntimeStatus: instance.runtimeStatus,
      CreatedTime: new Date(instance.createdTime),
      LastUpdatedTime: new Date(instance.lastUpdatedTime),
      ...(instance.customStatus === null ? {} : { CustomStatus: instance.customStatus }),
      ...texts,
    };
  }

  async function fromRow(raw: unknown): Promise<Instance & { etag: string }> {
    const row = instanceRow.parse(raw);
    return {
      instanceId: row.InstanceId,
      executionId: row.ExecutionId,
      name: row.Name,
      runtimeStatus: row.RuntimeStatus,
      createdTime: row.CreatedTime.toISOString(),
      lastUpdatedTime: row.LastUpdatedTime.toISOString(),
      input: row.InputBlobName === undefined ? (row.Input ?? null) : await large.get(row.InputBlobName),
      output: row.OutputBlobName === undefined ? (row.Output ?? null) : await large.get(row.OutputBlobName),
      customStatus: row.CustomStatus ?? null,
      etag: row.etag,
    };
  }

  return {
    async read(instanceId) {
      try {
        return await fromRow(await instances.getEntity(tableKey(instanceId), ''));
      } catch (error) {
        if (error instanceof RestError && error.statusCode === 404) return undefined;
        throw error;
      }
    },

    async claim(instance, etag) {
      const row = await toRow(instance);
      try {
        if (etag === undefined) await instances.createEntity(row);
        else await instances.updateEntity(row, 'Replace', { etag });
        return true;
      } catch (error) {
        if (error instanceof RestError && [404, 409, 412].includes(error.statusCode ?? 0)) return false;
        throw error;
      }
    },

    async write(instance) {
      await instances.upsertEntity(await toRow(instance), 'Replace');
    },

    async list(filter, page = {}) {
      const conditions: string[] = [];
      if (filter.prefix) {
        const from = tableKey(filter.prefix);
        conditions.push(odata`PartitionKey ge ${from} and PartitionKey lt ${`${from}\uffff`}`);
      }
      if (filter.createdFrom) conditions.push(odata`CreatedTime ge ${filter.createdFrom}`);
      if (filter.createdTo) conditions.push(odata`CreatedTime le ${filter.createdTo}`);
      if (filter.statuses?.length) {
        conditions.push(`(${filter.statuses.map((one) => odata`RuntimeStatus eq ${one}`).join(' or ')})`);
      }
      const pages = instances.listEntities({ queryOptions: { filter: conditions.join(' and ') } }).byPage({
        maxPageSize: page.size ?? 100,
        ...(page.continuation ? { continuationToken: page.continuation } : {}),
      });
      for await (const found of pages) {
        return { instances: await Promise.all(found.map(fromRow)), continuation: found.continuationToken };
      }
      return { instances: [], continuation: undefined };
    },

    async remove(instanceId) {
      await instances.deleteEntity(tableKey(instanceId), '').catch(unlessStatus(404));
    },
  };
}
