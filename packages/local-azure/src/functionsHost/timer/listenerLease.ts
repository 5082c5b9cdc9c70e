import { randomUUID } from 'node:crypto';
import { type BlobLeaseClient, type ContainerClient, RestError } from '@azure/storage-blob';
import type { Clock } from '../clock.ts';

/** Timeout of one storage request, in milliseconds. */
const requestTimeout = 5_000;

/** Lets one host at a time listen to a timer, like the real host's singleton listener lock. */
export interface ListenerLease {
  /** Acquires the lease; false if another host has it. */
  tryAcquire(): Promise<boolean>;
  /** Renews until the lease is lost (resolves) or the signal aborts (rejects). */
  keep(signal: AbortSignal): Promise<void>;
  release(): Promise<void>;
}

/**
 * The lease on the blob `locks/{host id}/Host.Functions.{name}.Listener` in container azure-webjobs-hosts.
 * @param period duration of the lease in milliseconds: host.json `singleton.listenerLockPeriod`, 15 s to 60 s
 */
export function blobListenerLease(
  container: ContainerClient,
  hostId: string,
  functionName: string,
  period: number,
  clock: Clock,
): ListenerLease {
  const blob = container.getBlockBlobClient(`locks/${hostId}/Host.Functions.${functionName}.Listener`);
  let lease: BlobLeaseClient | undefined;
  /** The lease certainly holds until then, on the monotonic clock. */
  let expiresAt = 0;

  return {
    async tryAcquire() {
      await createBlob();
      const sentAt = clock.monotonic();
      const candidate = blob.getBlobLeaseClient(randomUUID());
      try {
        await candidate.acquireLease(Math.round(period / 1000), {
          abortSignal: AbortSignal.timeout(requestTimeout),
        });
      } catch (error) {
        if (error instanceof RestError && error.statusCode === 409) return false;
        throw error;
      }
      lease = candidate;
      expiresAt = sentAt + period;
      return true;
    },
    async keep(signal) {
      for (let wait = period / 2; ;) {
        await clock.sleep(wait, signal);
        const sentAt = clock.monotonic();
        try {
          await lease?.renewLease({ abortSignal: AbortSignal.timeout(requestTimeout) });
          expiresAt = sentAt + period;
          wait = period / 2;
        } catch (error) {
          const refused = error instanceof RestError && [404, 409, 412].includes(error.statusCode ?? 0);
          if (refused || clock.monotonic() >= expiresAt) return;
          wait = 1_000;
        }
      }
    },
    async release() {
      const held = lease;
      lease = undefined;
      // A lease that cannot be released expires by itself.
      await held?.releaseLease({ abortSignal: AbortSignal.timeout(requestTimeout) }).catch(() => undefined);
    },
  };

  async function createBlob(): Promise<void> {
    try {
      await blob.upload('', 0, {
        conditions: { ifNoneMatch: '*' },
        abortSignal: AbortSignal.timeout(requestTimeout),
      });
    } catch (error) {
      // 409: it exists; 412: it exists and is leased.
      if (!(error instanceof RestError && [409, 412].includes(error.statusCode ?? 0))) throw error;
    }
  }
}
