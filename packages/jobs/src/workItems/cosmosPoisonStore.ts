import type { Container } from '@azure/cosmos';
import {
  createUnlessThere,
  fromCosmos,
  patchBody,
  queryAll,
  queryCount,
  unlessChanged,
} from '../documents/cosmosDocuments.ts';
import { readableDocuments } from '../documents/storedDocuments.ts';
import type { OnUnreadable } from '../documents/unreadable.ts';
import { type PoisonItem, type PoisonStore, poisonSchema } from './poison.ts';
import { effectName, type WorkItem } from './workItem.ts';

/** Seconds that a failure is kept for a poison record to take over (most work succeeds at a later try), and a record that a person has dealt with: 30 days. */
const failureTtl = 30 * 24 * 3600;

/** Failures and poison records in a Cosmos container with the partition key `/resourceId` (and `defaultTtl: -1`, or they never expire). */
export function cosmosPoisonStore(container: Container, onUnreadable?: OnUnreadable): PoisonStore {
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
      await createUnlessThere(container, record);
    },

    // Cosmos keeps `id` in its index whatever the policy says (https://learn.microsoft.com/azure/cosmos-db/index-policy).
    async list(limit, behind = '') {
      const query = `SELECT * FROM c WHERE c.status = 'poison' AND c.id > @behind ORDER BY c.id OFFSET 0 LIMIT @limit`;
      const parameters = [
        { name: '@limit', value: limit },
        { name: '@behind', value: behind },
      ];
      const found = await queryAll(container, { query, parameters });
      return readableDocuments(found, poisonSchema, 'poison', onUnreadable);
    },

    async find(ids) {
      const query = `SELECT * FROM c WHERE c.status = 'poison' AND ARRAY_CONTAINS(@ids, c.id)`;
      const found = await queryAll(container, { query, parameters: [{ name: '@ids', value: [...ids] }] });
      return readableDocuments(found, poisonSchema, 'poison', onUnreadable);
    },

    waiting: () => queryCount(container, `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'poison'`),

    async isUnchanged({ id, resourceId, _etag }) {
      const { resource } = await fromCosmos(() =>
        container.item(id, resourceId).read<{ status: string; _etag: string }>(),
      );
      return resource?.status === 'poison' && resource._etag === _etag;
    },

    markDiscarded: (item, { at, by, reason }) =>
      mark(item, { status: 'discarded', discarded: { at, by, reason } }),

    async markRedriven(item, redrivenAt) {
      await mark(item, { status: 'redriven', redrivenAt });
    },
  };

  /** False if the record is no longer as it was read. */
  async function mark({ id, resourceId, _etag }: PoisonItem, set: Record<string, unknown>): Promise<boolean> {
    const { operations } = patchBody({ kind: 'patch', id, set: { ttl: failureTtl, ...set } });
    const accessCondition = { type: 'IfMatch', condition: _etag };
    const marked = await unlessChanged(() =>
      container.item(id, resourceId).patch(operations, { accessCondition }),
    );
    return marked !== undefined;
  }
}

function failureId(item: WorkItem): string {
  return `failure:${effectName(item)}`;
}
