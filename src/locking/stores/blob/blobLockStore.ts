import { ContainerClient, newPipeline, type StoragePipelineOptions } from '@azure/storage-blob';
import type { LockStore, LockView, StoreTraits } from '../../lockStore.ts';
import { remembered } from '../remembered.ts';
import { ownConnections } from './blobConnections.ts';
import { blobAnswer, blobError, blobServiceDenies, refusal } from './blobErrors.ts';
import { fromMetadata, keyOf, toMetadata } from './blobMetadata.ts';
import { blobName, commonNamePrefix } from './blobName.ts';

/**
 * The other states, `available`, `expired` and `broken`, can be acquired
 * (https://learn.microsoft.com/rest/api/storageservices/lease-blob).
 */
const heldStates: readonly string[] = ['leased', 'breaking'];

/** 15 to 60 whole seconds (https://learn.microsoft.com/rest/api/storageservices/lease-blob). */
export const blobTraits: StoreTraits = {
  lease: { minMs: 15_000, maxMs: 60_000, stepMs: 1_000 },
  expiryLagMs: 500,
  keptBy: 'id',
  looks: 'anyone',
};

/**
 * A lock store on Azure Blob Storage: each lock is the lease of an empty blob in `container`, which is
 * created on first use. Never deletes a blob, because the blob carries the lock's fence.
 *
 * Takes the address and credential of `container` but not its pipeline: the SDK retries inside a call, and a
 * lease must account for every request. `pipeline` configures the pipeline used instead; its `retryOptions`
 * are ignored. Its connections are its own, too (blobConnections.ts).
 */
export function blobLockStore(container: ContainerClient, pipeline: StoragePipelineOptions = {}): LockStore {
  const connections = ownConnections(container.url);
  const requests = newPipeline(container.credential, { ...pipeline, retryOptions: { maxTries: 1 } });
  requests.factories.push(connections.policy);
  const locks = new ContainerClient(container.url, requests);
  const blob = remembered((key) => locks.getBlockBlobClient(blobName(key)));

  async function look(key: string, abortSignal: AbortSignal): Promise<LockView | undefined> {
    try {
      const { leaseState, metadata, etag, date } = await blob(key).getProperties({ abortSignal });
      return view(leaseState, metadata, etag, date);
    } catch (error) {
      if (blobAnswer(error)?.status === 404) return undefined;
      throw error;
    }
  }

  async function put(key: string, abortSignal: AbortSignal): Promise<LockView | 'exists' | 'noContainer'> {
    try {
      const metadata = toMetadata(key);
      const conditions = { ifNoneMatch: '*' };
      const { etag, date } = await blob(key).upload('', 0, { metadata, conditions, abortSignal });
      return view('available', metadata, etag, date);
    } catch (error) {
      switch (blobAnswer(error)?.code ?? '') {
        case blobError.containerNotFound:
          return 'noContainer';
        case blobError.blobExists:
        case blobError.conditionNotMet:
        case blobError.leaseIdMissing:
          return 'exists';
        default:
          throw error;
      }
    }
  }

  return {
    traits: blobTraits,
    look,
    isPermanent: blobServiceDenies,

    async create(key, abortSignal) {
      for (let tries = 0; tries < 3; tries++) {
        const made = await put(key, abortSignal);
        if (made === 'noContainer') {
          await locks.createIfNotExists({ abortSignal });
          continue;
        }
        const there = made === 'exists' ? await look(key, abortSignal) : made;
        if (there !== undefined) return there;
      }
      throw new Error(`Cannot create lock "${key}": it or its container disappeared on each of 3 attempts`);
    },

    async acquire(key, leaseId, leaseMs, abortSignal) {
      try {
        const lease = blob(key).getBlobLeaseClient(leaseId);
        const granted = await lease.acquireLease(leaseMs / 1000, { abortSignal });
        return granted.leaseId === leaseId ? 'acquired' : 'held';
      } catch (error) {
        const answer = blobAnswer(error);
        if (answer?.code === blobError.leasePresent || answer?.code === blobError.leaseBreaking)
          return 'held';
        if (answer?.status === 404) return 'absent';
        // Any other 409, such as a container being deleted, is not contention: 'held' would hide it.
        throw error;
      }
    },

    async raise(key, leaseId, record, version, abortSignal) {
      try {
        await blob(key).setMetadata(toMetadata(key, record), {
          conditions: { leaseId, ifMatch: etag(version) },
          abortSignal,
        });
        return 'raised';
      } catch (error) {
        const answer = blobAnswer(error);
        if (answer === undefined) throw error;
        return answer.code === blobError.conditionNotMet ? 'changed' : refusal(answer);
      }
    },

    async renew(key, leaseId, _leaseMs, abortSignal) {
      try {
        const renewed = await blob(key).getBlobLeaseClient(leaseId).renewLease({ abortSignal });
        if (renewed.leaseId === leaseId) return 'renewed';
        return { kind: 'refused', reason: 'taken', detail: 'the blob service renewed another lease' };
      } catch (error) {
        const answer = blobAnswer(error);
        if (answer === undefined) throw error;
        return refusal(answer);
      }
    },

    async release(key, leaseId, abortSignal) {
      try {
        await blob(key).getBlobLeaseClient(leaseId).releaseLease({ abortSignal });
        return 'released';
      } catch (error) {
        if (blobAnswer(error) === undefined) throw error;
        return 'gone';
      }
    },

    async break(key, version, abortSignal) {
      try {
        const conditions = { ifMatch: etag(version) };
        await blob(key).getBlobLeaseClient().breakLease(0, { conditions, abortSignal });
        return 'broken';
      } catch (error) {
        const answer = blobAnswer(error);
        if (answer?.code === blobError.leaseNotPresent || answer?.code === blobError.leaseAlreadyBroken) {
          return 'notHeld';
        }
        if (answer?.status === 404 || answer?.status === 412) return 'changed';
        throw error;
      }
    },

    async *list(prefix, abortSignal) {
      try {
        const listed = locks.listBlobsFlat({
          prefix: commonNamePrefix(prefix),
          includeMetadata: true,
          abortSignal,
        });
        for await (const { properties, metadata } of listed) {
          const key = keyOf(metadata ?? {});
          if (key?.startsWith(prefix)) {
            yield { key, ...view(properties.leaseState, metadata, properties.etag) };
          }
        }
      } catch (error) {
        if (blobAnswer(error)?.code !== blobError.containerNotFound) throw error;
      }
    },

    async [Symbol.asyncDispose]() {
      connections.close();
    },
  };
}

/** A version as an ETag. One that this store cannot have given out becomes an ETag that no blob has. */
function etag(version: string): string {
  return /^"[\x21\x23-\x7e]+"$/.test(version) ? version : '"none"';
}

function view(state = '', metadata: Record<string, string> = {}, version = '', date?: Date): LockView {
  const held = heldStates.includes(state);
  return { held, record: fromMetadata(metadata), version, now: date?.getTime() };
}
