import { randomUUID } from 'node:crypto';
import type { OperationInput } from '@azure/cosmos';
import type { LockStore, LockView, Refusal, StoreTraits } from '@payonce/leases';
import { recordToText } from '../recordText.ts';
import { untilAborted } from '../untilAborted.ts';
import { type CosmosLocks, checkLockContainer } from './cosmosLockContainer.ts';
import {
  type LockPatch,
  leaseTtl,
  listedItems,
  lockItems,
  lockPartition,
  lockPatchBody,
  lockView,
  patchIn,
  quoted,
} from './cosmosLockItems.ts';
import { isRefusal, itemStatus, statusOfError, transact } from './cosmosRequests.ts';

export { cosmosLockContainer } from './cosmosLockContainer.ts';

/** A lease lasts at most the extra second of its TTL longer (see `leaseTtl`). The rest is for a slow answer. */
export const cosmosTraits: StoreTraits = {
  lease: { minMs: 2_000, maxMs: 3_600_000, stepMs: 1_000 },
  expiryLagMs: 1_500,
  keptBy: 'id',
  looks: 'anyone',
};

/**
 * A lock store on Azure Cosmos DB for NoSQL. Each lock is a partition of two items: `record`, which stays and carries the
 * fence, and `lease`, which is there while the lock is held.
 *
 * - What ends a lease: the TTL of its item, from its last write, by the clock of Cosmos. Cosmos hides an expired item at
 *   once and deletes it later (https://learn.microsoft.com/azure/cosmos-db/nosql/time-to-live). A lock is free when Cosmos
 *   accepts the item of the next lease, whatever a read shows.
 * - What the container must have: partition key `/lock`, default TTL -1, and an index on `/key/?` for lists.
 * - What breaks it: several write regions. Each of them grants the lock, and the conflict is resolved afterwards
 *   (https://learn.microsoft.com/azure/cosmos-db/multi-region-writes). With one, a failover may lose the last writes, so
 *   leases and fences, unless consistency is strong (https://learn.microsoft.com/azure/cosmos-db/consistency-levels).
 *
 * The first `acquire` rejects if the account or the container is not so. The client is the caller's. It may repeat
 * requests, which does no harm, and stops when the signal aborts.
 */
export function cosmosLockStore(container: CosmosLocks): LockStore {
  let checked = false;

  async function items(key: string, abortSignal: AbortSignal) {
    const read = async (id: string): Promise<unknown> => {
      const item = container.item(id, lockPartition(key));
      return (await untilAborted(abortSignal, () => item.read({ abortSignal }))).resource;
    };
    const [record, lease] = await Promise.all([read('record'), read('lease')]);
    return lockItems({ record, lease });
  }

  async function look(key: string, signal: AbortSignal): Promise<LockView | undefined> {
    const { record, lease } = await items(key, signal);
    return record && lockView(record, lease);
  }

  /** Runs a transaction: the status of each operation, or undefined if all were applied. */
  function inLock(key: string, operations: OperationInput[], signal: AbortSignal) {
    return untilAborted(signal, () => transact(container, lockPartition(key), operations, signal));
  }

  /** Changes the lease; false if the condition does not hold, or there is no lease. */
  async function patchLease(key: string, patch: LockPatch, abortSignal: AbortSignal): Promise<boolean> {
    const lease = container.item('lease', lockPartition(key));
    try {
      await untilAborted(abortSignal, () => lease.patch(lockPatchBody(patch), { abortSignal }));
      return true;
    } catch (error) {
      if (!isRefusal(statusOfError(error))) throw error;
      return false;
    }
  }

  async function whyRefused(key: string, signal: AbortSignal): Promise<Refusal> {
    const { record, lease } = await items(key, signal);
    if (record === undefined) return { kind: 'refused', reason: 'deleted', detail: 'there is no such lock' };
    if (lease?.leaseId === '') return { kind: 'refused', reason: 'broken', detail: 'the lease was broken' };
    return taken;
  }

  async function check(signal: AbortSignal): Promise<void> {
    if (checked) return;
    await untilAborted(signal, () => checkLockContainer(container, signal));
    checked = true;
  }

  return {
    traits: cosmosTraits,
    look,
    isPermanent(error) {
      const status = statusOfError(error);
      return [itemStatus.notFound, itemStatus.unauthorized, itemStatus.forbidden].some(
        (one) => one === status,
      );
    },

    async create(key, signal) {
      const fresh = { id: 'record', lock: lockPartition(key), key, version: randomUUID() };
      for (let tries = 0; tries < 3; tries++) {
        const codes = await inLock(key, [{ operationType: 'Create', resourceBody: fresh }], signal);
        if (codes === undefined) return lockView(fresh, undefined);
        const there = await look(key, signal);
        if (there !== undefined) return there;
      }
      throw new Error(`Cannot create lock "${key}": it disappeared on each of 3 attempts`);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const lease = { id: 'lease', lock: lockPartition(key), key, leaseId, ttl: leaseTtl(leaseMs) };
      await check(signal);
      const operations: OperationInput[] = [
        { operationType: 'Read', id: 'record' },
        { operationType: 'Create', resourceBody: lease },
      ];
      const codes = await inLock(key, operations, signal);
      if (codes === undefined) return 'acquired';
      if (codes[0] === itemStatus.notFound) return 'absent';
      // Ours, or a broken one. If the lease has just run out, the next attempt gets the lock.
      const where = `c.leaseId = ${quoted(leaseId)} or c.leaseId = ""`;
      const patch = { where, set: { leaseId, ttl: lease.ttl } };
      return (await patchLease(key, patch, signal)) ? 'acquired' : 'held';
    },

    async raise(key, leaseId, record, version, signal) {
      const next = { version: randomUUID(), record: recordToText(record) };
      const operations = [
        patchIn('record', { where: `c.version = ${quoted(version)}`, set: next }),
        patchIn('lease', { where: `c.leaseId = ${quoted(leaseId)}`, set: { leaseId } }),
      ];
      const codes = await inLock(key, operations, signal);
      if (codes === undefined) return 'raised';
      return isRefusal(codes[0]) ? 'changed' : taken;
    },

    async renew(key, leaseId, leaseMs, signal) {
      const patch = { where: `c.leaseId = ${quoted(leaseId)}`, set: { ttl: leaseTtl(leaseMs) } };
      return (await patchLease(key, patch, signal)) ? 'renewed' : whyRefused(key, signal);
    },

    async release(key, leaseId, signal) {
      const operations: OperationInput[] = [
        patchIn('lease', { where: `c.leaseId = ${quoted(leaseId)}`, set: { leaseId } }),
        { operationType: 'Delete', id: 'lease' },
      ];
      return (await inLock(key, operations, signal)) === undefined ? 'released' : 'gone';
    },

    async break(key, version, signal) {
      const operations = [
        patchIn('record', { where: `c.version = ${quoted(version)}`, set: { version } }),
        patchIn('lease', { where: 'c.leaseId != ""', set: { leaseId: '' } }),
      ];
      const codes = await inLock(key, operations, signal);
      if (codes === undefined) return 'broken';
      return isRefusal(codes[0]) ? 'changed' : 'notHeld';
    },

    async forget(key, version, signal) {
      const lease = { id: 'lease', lock: lockPartition(key), key, leaseId: '', ttl: leaseTtl(0) };
      const operations: OperationInput[] = [
        patchIn('record', { where: `c.version = ${quoted(version)}`, set: { version } }),
        // Refused while there is another.
        { operationType: 'Create', resourceBody: lease },
        { operationType: 'Delete', id: 'lease' },
        { operationType: 'Delete', id: 'record' },
      ];
      const codes = await inLock(key, operations, signal);
      if (codes === undefined || codes[0] === itemStatus.notFound) return 'forgotten';
      return isRefusal(codes[0]) ? 'changed' : 'held';
    },

    async *list(prefix, abortSignal) {
      const query = 'SELECT * FROM c WHERE STARTSWITH(c.key, @prefix)';
      const parameters = [{ name: '@prefix', value: prefix }];
      const found = await untilAborted(abortSignal, () =>
        container.items.query<unknown>({ query, parameters }, { abortSignal }).fetchAll(),
      );
      const listed = listedItems(found.resources);
      const leases = new Map(listed.flatMap((item) => (item.id === 'lease' ? [[item.key, item]] : [])));
      for (const item of listed) {
        if (item.id === 'record') yield { key: item.key, ...lockView(item, leases.get(item.key)) };
      }
    },

    async [Symbol.asyncDispose]() {},
  };
}

const taken: Refusal = { kind: 'refused', reason: 'taken', detail: 'this lease does not hold the lock' };
