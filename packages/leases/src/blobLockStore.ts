import { createHash } from 'node:crypto';
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
import { checkKey, checkOwner } from './lockKeys.ts';
import type { LockRecord, LockStore, LockView, Refusal, StoreTraits } from './lockStore.ts';
import { memoized } from './memoized.ts';

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
          const key = keyOfMetadata(metadata ?? {});
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

/** The pipeline signs with a key only if the credential is of the class that is imported here. */
function credentialOf({ credential }: LockBlobs): Credential {
  if ('getToken' in credential) return credential;
  if (!('accountName' in credential)) return new AnonymousCredential();
  const key: unknown = Reflect.get(credential, 'accountKey');
  if (!Buffer.isBuffer(key)) throw new TypeError('The credential of the container has no account key');
  return new StorageSharedKeyCredential(credential.accountName, key.toString('base64'));
}

/** A version as an ETag. One that this store cannot have given out becomes an ETag that no blob has. */
function etag(version: string): string {
  return /^"[\x21\x23-\x7e]+"$/.test(version) ? version : '"none"';
}

function view(state = '', metadata: Record<string, string> = {}, version = '', date?: Date): LockView {
  const held = heldStates.includes(state);
  return { held, record: fromMetadata(metadata), version, now: date?.getTime() };
}

/**
 * Metadata of a lock's blob. Names are case-insensitive, values travel as HTTP headers, the limit is 8 KB in
 * all.
 */
export type LockMetadata = Record<string, string>;

/**
 * The metadata of a lock, with the record of a holder that took a fence.
 *
 * @throws RangeError if a part of the owner is longer than 256 characters.
 */
export function toMetadata(key: string, record?: LockRecord): LockMetadata {
  const metadata: LockMetadata = { key: toHeader(key) };
  if (record === undefined) return metadata;
  const { instance, job, runId } = record.owner;
  checkOwner(record.owner);
  return {
    ...metadata,
    instance: toHeader(instance),
    job: toHeader(job),
    ...(runId === undefined ? {} : { runid: toHeader(runId) }),
    since: new Date(record.since).toISOString(),
    leasems: String(record.leaseMs),
    fence: String(record.fence),
  };
}

/** The record in the metadata. Undefined if no holder has left one, or if it is not in our format. */
export function fromMetadata(metadata: LockMetadata): LockRecord | undefined {
  const { instance, job, runid, since, leasems, fence } = metadata;
  if (instance === undefined || job === undefined || since === undefined) return undefined;
  const record: LockRecord = {
    fence: Number(fence),
    owner: {
      instance: fromHeader(instance),
      job: fromHeader(job),
      ...(runid === undefined ? {} : { runId: fromHeader(runid) }),
    },
    since: Date.parse(since),
    leaseMs: Number(leasems),
  };
  const valid = Number.isSafeInteger(record.fence) && record.since >= 0 && record.leaseMs > 0;
  return valid ? record : undefined;
}

/** The key in a lock's metadata. */
export function keyOfMetadata(metadata: LockMetadata): string | undefined {
  return metadata.key === undefined ? undefined : fromHeader(metadata.key);
}

/**
 * Printable ASCII stays as it is, so that people can read it. Anything else becomes `~` and the base64url of
 * its UTF-16 code units.
 */
function toHeader(text: string): string {
  return /^[\x21-\x7d][\x21-\x7e]*$/.test(text)
    ? text
    : `~${Buffer.from(text, 'utf16le').toString('base64url')}`;
}

function fromHeader(text: string): string {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text;
}

/**
 * The blob service's error codes that matter here:
 * https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes.
 */
export const blobError = {
  containerNotFound: 'ContainerNotFound',
  blobExists: 'BlobAlreadyExists',
  conditionNotMet: 'ConditionNotMet',
  /** A write without a lease id to a leased blob (412). */
  leaseIdMissing: 'LeaseIdMissing',
  /** Acquire: another lease holds the blob, or its lease is being broken. */
  leasePresent: 'LeaseAlreadyPresent',
  leaseBreaking: 'LeaseIsBreakingAndCannotBeAcquired',
  /** Break: there is no lease to break. */
  leaseNotPresent: 'LeaseNotPresentWithLeaseOperation',
  leaseAlreadyBroken: 'LeaseAlreadyBroken',
  /** Renew: someone broke the lease. */
  leaseBroken: 'LeaseIsBrokenAndCannotBeRenewed',
} as const;

/** A refusal by the blob service. */
export interface BlobAnswer {
  status: number;
  /** One of `blobError`, any other code of the service, or '' if it sent none. */
  code: string;
}

/**
 * The refusal (404, 409 or 412) in an error. Undefined for any other error, such as a reset connection or a
 * 5xx: those say nothing about the lock.
 */
export function blobAnswer(error: unknown): BlobAnswer | undefined {
  if (!(error instanceof RestError) || error.statusCode === undefined) return undefined;
  if (![404, 409, 412].includes(error.statusCode)) return undefined;
  return { status: error.statusCode, code: errorCode(error) };
}

/** A HEAD response has no body; its code is in a header. */
function errorCode({ code, response }: RestError): string {
  return code ?? response?.headers.get('x-ms-error-code') ?? '';
}

/** True if the service refuses the credential (401, 403) or the name of the container (400). */
export function blobServiceDenies(error: unknown): boolean {
  return error instanceof RestError && [400, 401, 403].includes(error.statusCode ?? 0);
}

/** The loss that a refused renewal, or a refused write under a lease, tells of. */
export function blobRefusal({ status, code }: BlobAnswer): Refusal {
  const detail = `the blob service answered ${status} ${code}`.trimEnd();
  if (status === 404) return { kind: 'refused', reason: 'deleted', detail };
  if (code === blobError.leaseBroken) return { kind: 'refused', reason: 'broken', detail };
  return { kind: 'refused', reason: 'taken', detail };
}

const longestName = 1024;
const mostSegments = 50;
const readablePart = 200;

/**
 * The blob name of a lock. Different keys get different names:
 * - a plain key is its own name (`jobs/nightly-report/3`);
 * - other characters are escaped with `=`;
 * - a name that would be too long or too deep becomes a readable beginning and a hash.
 *
 * In all three the part before the first slash stays a folder of its own.
 *
 * Blob names have 1 to 1,024 characters and at most 254 segments, and must not end in a dot or slash
 * (https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
 *
 * @throws RangeError for an empty key or one longer than 1,024 characters (UTF-16 code units).
 */
export function blobName(key: string): string {
  checkKey(key);
  const escaped = escapeKey(key);
  if (escaped.length <= longestName && escaped.split('/').length <= mostSegments) return escaped;
  // Escaped keys never contain `==`, so a hashed name cannot collide with one.
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex');
  const [folder = '', ...rest] = key.slice(0, readablePart).split('/');
  const beginning = rest.length === 0 ? folder : `${folder}/${rest.join('-')}`;
  const readable = escapeKey(beginning)
    .slice(0, readablePart)
    .replace(/=[0-9a-fu]*$/, '');
  return `${readable}==${hash}`;
}

/**
 * The common beginning of the blob names of all locks whose keys begin with `prefix`. It covers `prefix` only
 * up to the first slash, because hashed names keep no more of their keys. Other names may begin with it too:
 * filter by key.
 */
export function commonNamePrefix(prefix: string): string {
  const [folder = ''] = prefix.split('/', 1);
  // A trailing dot is escaped or not, depending on what follows it.
  return escapeKey(`${folder.replace(/\.+$/, '')}-`)
    .slice(0, -1)
    .slice(0, readablePart / 2);
}

/** Works on code units, so that lone surrogates and different compositions of a letter stay distinct. */
function escapeKey(key: string): string {
  let name = '';
  for (let i = 0; i < key.length; i++) {
    const char = key.charAt(i);
    name += isPlain(char, key.charAt(i - 1), key.charAt(i + 1)) ? char : escapeUnit(char.charCodeAt(0));
  }
  return name;
}

function isPlain(char: string, before: string, after: string): boolean {
  // URL libraries fold `.`, `..` and doubled slashes: no segment begins or ends in a dot, and none is empty.
  if (char === '.') return before !== '' && before !== '/' && after !== '' && after !== '/';
  if (char === '/') return before !== '' && before !== '/' && after !== '';
  return /[A-Za-z0-9_-]/.test(char);
}

function escapeUnit(unit: number): string {
  return unit < 0x100 ? `=${unit.toString(16).padStart(2, '0')}` : `=u${unit.toString(16).padStart(4, '0')}`;
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
