import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import {
  AnonymousCredential,
  ContainerClient,
  newPipeline,
  type RequestPolicyFactory,
  RestError,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import {
  blobAnswer,
  blobError,
  blobName,
  blobRefusal,
  errorCode,
  etag,
  toMetadata,
  view,
} from './blobFormat.ts';
import { blobLockOperations } from './blobLockOperations.ts';
import type { LockStore, LockView, StoreTraits } from './lockStore.ts';
import { memoized } from './memoized.ts';

export {
  type BlobAnswer,
  blobAnswer,
  blobError,
  blobName,
  blobRefusal,
  fromMetadata,
  type LockMetadata,
  toMetadata,
} from './blobFormat.ts';
export { commonNamePrefix, keyOfMetadata } from './blobLockOperations.ts';

/** 15 to 60 whole seconds (https://learn.microsoft.com/rest/api/storageservices/lease-blob). */
export const blobTraits: StoreTraits = {
  lease: { minMs: 15_000, maxMs: 60_000, stepMs: 1_000 },
  expiryLagMs: 500,
  keptBy: 'id',
  looks: 'anyone',
};

type Credential = NonNullable<Parameters<typeof newPipeline>[0]>;
type TokenCredential = Exclude<Credential, StorageSharedKeyCredential | AnonymousCredential>;

/** A `ContainerClient` by its shape, since `import` and `require` load different classes of it. */
export interface LockBlobs {
  readonly url: string;
  readonly credential: TokenCredential | { readonly accountName: string } | object;
}

/**
 * A lock store on Azure Blob Storage: each lock is the lease of an empty blob in `container`, which is
 * created on first use. Never deletes a blob, because the blob carries the lock's fence.
 *
 * Takes the address and credential of `container` but not its pipeline: the SDK retries inside a call, and a
 * lease must account for every request. `pipeline` configures the pipeline used instead; its `retryOptions`
 * are ignored. Its connections are its own, too (`ownConnections`).
 */
export function blobLockStore(container: LockBlobs, pipeline: StoragePipelineOptions = {}): LockStore {
  const connections = ownConnections(container.url);
  const requests = newPipeline(credentialOf(container), { ...pipeline, retryOptions: { maxTries: 1 } });
  requests.factories.push(connections.policy);
  const locks = new ContainerClient(container.url, requests);
  const blob = memoized((key) => locks.getBlockBlobClient(blobName(key)));

  async function look(key: string, abortSignal: AbortSignal): Promise<LockView | undefined> {
    try {
      const { leaseState, metadata, etag, date } = await blob(key).getProperties({ abortSignal });
      return view(leaseState, metadata, etag, date);
    } catch (error) {
      if (blobAnswer(error)?.status === 404) return undefined;
      // The answer to a HEAD request has no body, and the SDK gives its error no message.
      if (error instanceof RestError && error.message === '')
        error.message = `${error.statusCode ?? ''} ${errorCode(error)}`.trim();
      throw error;
    }
  }

  return {
    traits: blobTraits,
    look,
    isPermanent: blobServiceDenies,

    async create(key, abortSignal) {
      for (let tries = 0; tries < 3; tries++) {
        try {
          const metadata = toMetadata(key);
          const conditions = { ifNoneMatch: '*' };
          const { etag: version, date } = await blob(key).upload('', 0, {
            metadata,
            conditions,
            abortSignal,
          });
          return view('available', metadata, version, date);
        } catch (error) {
          switch (blobAnswer(error)?.code ?? '') {
            case blobError.containerNotFound:
              await locks.createIfNotExists({ abortSignal });
              break;
            case blobError.blobExists:
            case blobError.conditionNotMet:
            case blobError.leaseIdMissing: {
              const there = await look(key, abortSignal);
              if (there !== undefined) return there;
              break;
            }
            default:
              throw error;
          }
        }
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
        return answer.code === blobError.conditionNotMet ? 'changed' : blobRefusal(answer);
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
        return blobRefusal(answer);
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

    ...blobLockOperations(locks, blob),

    async [Symbol.asyncDispose]() {
      connections.close();
    },
  };
}

/** The pipeline signs with a key only if the credential is of the class that is imported here. */
function credentialOf({ credential }: LockBlobs): Credential {
  if ('getToken' in credential) return credential;
  if (!('accountName' in credential)) return new AnonymousCredential();
  const key: unknown = Reflect.get(credential, 'accountKey');
  if (!Buffer.isBuffer(key)) throw new TypeError('The credential of the container has no account key');
  return new StorageSharedKeyCredential(credential.accountName, key.toString('base64'));
}

/** True if the service refuses the credential (401, 403) or the name of the container (400). */
export function blobServiceDenies(error: unknown): boolean {
  return error instanceof RestError && [400, 401, 403].includes(error.statusCode ?? 0);
}

/** Connections to one service that no other client of the process uses. */
export interface OwnConnections {
  /** Sends requests over them. */
  policy: RequestPolicyFactory;
  /** Ends them. A request that comes later opens a new one. */
  close(): void;
}

/**
 * All clients of storage in a process share their connections by default. While thousands of receipts are written, a
 * renewal would then wait for a new connection and its handshake: leases were lost that way. `url`: of the service.
 */
export function ownConnections(url: string): OwnConnections {
  const agent = new (url.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true });
  return {
    policy: {
      create: (next) => ({
        sendRequest(request) {
          request.agent = agent;
          return next.sendRequest(request);
        },
      }),
    },
    close: () => agent.destroy(),
  };
}
