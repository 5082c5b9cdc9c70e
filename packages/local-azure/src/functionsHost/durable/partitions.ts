/**
 * Divides the partitions of a task hub among its hosts.
 *
 *   free → held (this host listens) → draining (over its share, or stopping) → free
 *
 * Each host writes a heartbeat blob; the list of live hosts determines how many partitions each may hold. A
 * held partition is a leased blob; other hosts break the lease of a host without a heartbeat. Leases only
 * keep hosts out of each other's way: mutual exclusion comes from the ETag of the history.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { BlobLeaseClient, ContainerClient } from '@azure/storage-blob';
import type { Listener } from './controlQueue.ts';
import { unlessStatus } from './unlessStatus.ts';

export interface PartitionsOptions {
  container: ContainerClient;
  /** One per partition: the name of its control queue. */
  names: string[];
  hostId: string;
  /** Milliseconds without a heartbeat after which a host counts as dead. */
  leaseInterval: number;
  renewInterval: number;
  /** Milliseconds between two checks for partitions to take or release. */
  acquireInterval: number;
  listen: (partition: number) => Listener;
  log: (level: 'information' | 'warning' | 'error', message: string) => void;
}

export interface Partitions {
  wake(partition: number): void;
  stop(): Promise<void>;
}

interface Held {
  lease: BlobLeaseClient;
  listener: Listener;
  renewedAt: number;
}

/** Durations a storage lease can have, in seconds. */
const leaseSeconds = { min: 15, max: 60 };

/**
 * Computes how many of the `partitions` the host may own, given the live hosts. Every host computes the same
 * shares.
 */
export function shareOf(hostId: string, living: string[], partitions: number): number {
  const hosts = [...new Set([...living, hostId])].sort();
  const rank = hosts.indexOf(hostId);
  return Math.floor(partitions / hosts.length) + (rank < partitions % hosts.length ? 1 : 0);
}

export function startPartitions(options: PartitionsOptions): Partitions {
  const { container, names, hostId } = options;
  const held = new Map<number, Held>();
  const stopping = new AbortController();
  const heartbeat = container.getBlockBlobClient(`hosts/${encodeURIComponent(hostId)}`);
  const blobOf = (partition: number) => container.getBlockBlobClient(`ownership/${names[partition]}`);
  const duration = Math.min(
    leaseSeconds.max,
    Math.max(leaseSeconds.min, Math.ceil(options.leaseInterval / 1000)),
  );
  const deadline = () => ({ abortSignal: AbortSignal.timeout(5000) });
  let beatAt = Number.NEGATIVE_INFINITY;

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await round();
      } catch (error) {
        options.log('error', `partitions: ${error instanceof Error ? error.stack : String(error)}`);
      }
      const pause = Math.min(options.acquireInterval, options.renewInterval);
      await delay(pause, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  async function round(): Promise<void> {
    if (performance.now() - beatAt >= options.renewInterval) {
      await heartbeat.uploadData(Buffer.alloc(0), deadline());
      beatAt = performance.now();
    }
    await Promise.all([...held].map(([partition, one]) => renew(partition, one)));
    const living = await livingHosts();
    const share = shareOf(hostId, living, names.length);
    const surplus = [...held.keys()].slice(share);
    await Promise.all(surplus.map(release));
    for (let partition = 0; partition < names.length && held.size < share; partition++) {
      if (!held.has(partition) && !stopping.signal.aborted) await tryTake(partition, living);
    }
  }

  async function livingHosts(): Promise<string[]> {
    const living: string[] = [];
    for await (const { name, properties } of container.listBlobsFlat({ prefix: 'hosts/' })) {
      const isLiving = Date.now() - properties.lastModified.getTime() < options.leaseInterval + 1000;
      if (isLiving) living.push(decodeURIComponent(name.slice('hosts/'.length)));
    }
    return living;
  }

  async function tryTake(partition: number, living: string[]): Promise<void> {
    const blob = blobOf(partition);
    const owner = await ownerOf(partition);
    if (owner.isLeased) {
      if (owner.hostId === undefined || living.includes(owner.hostId)) return;
      options.log('information', `${names[partition]}: its host ${owner.hostId} is dead`);
      await blob.getBlobLeaseClient().breakLease(0, deadline()).catch(unlessStatus(409));
    }
    const lease = blob.getBlobLeaseClient();
    try {
      await lease.acquireLease(duration, deadline());
    } catch (error) {
      unlessStatus(409)(error);
      return;
    }
    await blob.setMetadata({ owner: encodeURIComponent(hostId) }, { conditions: { leaseId: lease.leaseId } });
    held.set(partition, { lease, listener: options.listen(partition), renewedAt: performance.now() });
    options.log('information', `${names[partition]}: taken by ${hostId}`);
  }

  async function ownerOf(partition: number): Promise<{ isLeased: boolean; hostId: string | undefined }> {
    const blob = blobOf(partition);
    try {
      const { leaseState, metadata } = await blob.getProperties(deadline());
      const owner = metadata?.owner;
      return {
        isLeased: leaseState === 'leased',
        hostId: owner === undefined ? undefined : decodeURIComponent(owner),
      };
    } catch (error) {
      unlessStatus(404)(error);
      await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } }).catch(unlessStatus(409, 412));
      return { isLeased: false, hostId: undefined };
    }
  }

  async function renew(partition: number, one: Held): Promise<void> {
    if (performance.now() - one.renewedAt < options.renewInterval) return;
    const sentAt = performance.now();
    try {
      const { leaseId } = await one.lease.renewLease(deadline());
      if (leaseId === one.lease.leaseId) {
        one.renewedAt = sentAt;
        return;
      }
    } catch (error) {
      const isTrusted = performance.now() - one.renewedAt < options.leaseInterval;
      const isLost =
        error instanceof Error && 'statusCode' in error && [404, 409, 412].includes(Number(error.statusCode));
      if (isTrusted && !isLost) return;
    }
    options.log('warning', `${names[partition]}: lost the lease`);
    held.delete(partition);
    await one.listener.stop();
  }

  async function release(partition: number): Promise<void> {
    const one = held.get(partition);
    if (one === undefined) return;
    await one.listener.stop();
    held.delete(partition);
    await one.lease.releaseLease(deadline()).catch(unlessStatus(404, 409, 412));
    options.log('information', `${names[partition]}: released by ${hostId}`);
  }

  const looping = loop();
  return {
    wake: (partition) => held.get(partition)?.listener.wake(),
    async stop() {
      stopping.abort();
      await looping;
      await Promise.all([...held.keys()].map(release));
      await heartbeat.deleteIfExists(deadline());
    },
  };
}
