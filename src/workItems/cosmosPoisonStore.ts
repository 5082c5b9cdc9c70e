import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosStatus, fromCosmos, statusOf } from '../documents/cosmosErrors.ts';
import { type PoisonStore, poisonSchema } from './poison.ts';
import { effectName, type WorkItem } from './workItem.ts';

const countSchema = z.tuple([z.number()]);

/** Seconds that a failure is kept for a poison record to take over (most work succeeds at a later try): 30 days. */
const failureTtl = 30 * 24 * 3600;

/** Failures and poison records in the Cosmos container `workItems`, whose partition key is the resource. */
export function cosmosPoisonStore(container: Container): PoisonStore {
  return {
    async keepFailure(item, { error, at }) {
      const { resourceId, stage } = item;
      const id = failureId(item);
      const failure = { id, resourceId, stage, status: 'failed', error, at, ttl: failureTtl };
      await fromCosmos(() => container.items.upsert(failure));
    },

    async lastFailure(item) {
      const { resource } = await fromCosmos(() =>
        container.item(failureId(item), item.resourceId).read<{ error?: string }>(),
      );
      return resource?.error;
    },

    async create(record) {
      try {
        await fromCosmos(() => container.items.create(record));
      } catch (error) {
        if (statusOf(error) !== cosmosStatus.conflict) throw error;
      }
    },

    async list(limit) {
      const query = `SELECT * FROM c WHERE c.status = 'poison' OFFSET 0 LIMIT @limit`;
      const found = await all({ query, parameters: [{ name: '@limit', value: limit }] });
      return found.map((item) => poisonSchema.parse(item));
    },

    async waiting() {
      return countSchema.parse(await all(`SELECT VALUE COUNT(1) FROM c WHERE c.status = 'poison'`))[0];
    },

    async isUnchanged({ id, resourceId, _etag }) {
      const { resource } = await fromCosmos(() =>
        container.item(id, resourceId).read<{ status: string; _etag: string }>(),
      );
      return resource?.status === 'poison' && resource._etag === _etag;
    },

    async markRedriven({ id, resourceId, _etag }, at) {
      try {
        await fromCosmos(() =>
          container.item(id, resourceId).patch(
            [
              { op: 'set', path: '/status', value: 'redriven' },
              { op: 'set', path: '/redrivenAt', value: at },
            ],
            { accessCondition: { type: 'IfMatch', condition: _etag } },
          ),
        );
      } catch (error) {
        if (statusOf(error) !== cosmosStatus.preconditionFailed) throw error;
      }
    },
  };

  async function all(query: string | SqlQuerySpec): Promise<unknown[]> {
    const { resources } = await fromCosmos(() => container.items.query<unknown>(query).fetchAll());
    return resources;
  }
}

function failureId(item: WorkItem): string {
  return `failure:${effectName(item)}`;
}
