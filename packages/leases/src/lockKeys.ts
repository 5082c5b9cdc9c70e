import type { LeaseOwner } from './lockStore.ts';
/**
 * The keys of the app's locks; none is spelled anywhere else.
 *
 *   jobs/{job}                     a job that one instance runs at a time
 *   jobs/{job}/{group}             one part of a job that several instances share
 *   work-items/{resource}#{stage}  one stage of queued work for one thing
 */

/** Prefix of the keys of jobs. These locks have fences, and their blobs are never deleted. */
export const jobLockPrefix = 'jobs/';

/** The key of a job, or of one group of it. */
export function jobLockKey(job: string, group?: string): string {
  return group === undefined ? `${jobLockPrefix}${job}` : `${jobLockPrefix}${job}/${group}`;
}

/** The keys of a lock that is split into `count` parts, each of which one process may hold: `{base}/0`, `{base}/1`, … */
export function shardKeys(base: string, count: number): string[] {
  return Array.from({ length: count }, (_, shard) => `${base}/${shard}`);
}

/**
 * Prefix of the keys of work items. There is a lock for each of them, so old ones are deleted (a rule in
 * infra/modules/storage.bicep). No lock with this prefix may have a fence: it would be deleted too.
 */
export const workItemLockPrefix = 'work-items/';

/** The key of one stage of one thing; different pairs never share a key. */
export function workItemLockKey(resourceId: string, stage: string): string {
  const parts = [resourceId, stage].map((part) => part.replaceAll('%', '%25').replaceAll('#', '%23'));
  return `${workItemLockPrefix}${parts.join('#')}`;
}

/** Most characters (UTF-16 code units) in the key of a lock, whichever store keeps it. */
export const longestLockKey = 1024;

/** Most characters (UTF-16 code units) in each part of a `LeaseOwner`. */
export const longestOwnerPart = 256;

/** @throws RangeError for an empty key, or one longer than 1,024 characters; TypeError for what is no text. */
export function checkKey(key: string): void {
  if (typeof key !== 'string') throw new TypeError(`A lock key is a text, not ${typeof key}`);
  if (key.length === 0 || key.length > longestLockKey) {
    throw new RangeError(`A lock key has 1 to 1,024 characters, not ${key.length}`);
  }
}

/** @throws RangeError if a part of the owner is longer than 256 characters; TypeError if one is no text. */
export function checkOwner({ instance, job, runId = '' }: LeaseOwner): void {
  for (const part of [instance, job, runId]) {
    if (typeof part !== 'string')
      throw new TypeError(`Each part of a lease owner is a text, not ${typeof part}`);
    if (part.length > longestOwnerPart) {
      throw new RangeError(`Each part of a lease owner has at most ${longestOwnerPart} characters`);
    }
  }
}
