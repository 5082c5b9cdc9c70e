/**
 * Runs a function with each new version of each blob of a container. One host at a time scans the container, under a lease. A
 * receipt in `azure-webjobs-hosts` says that a version is done: its function returned, or threw as often as
 * `poisonBlobThreshold` allows, and then a message is in the queue `webjobs-blobtrigger-poison`.
 */
import { type BlobItem, type BlobServiceClient, type ContainerClient, RestError } from '@azure/storage-blob';
import type { QueueServiceClient } from '@azure/storage-queue';
import pLimit from 'p-limit';
import type { AppFunction, BlobTrigger } from '../appFunctions.ts';
import { patternOf } from '../bindingData.ts';
import type { Clock } from '../clock.ts';
import type { TypedData } from '../coreTypes.ts';
import type { HostJson } from '../hostJson.ts';
import type { Invoker } from '../invoker.ts';
import type { Logger } from '../logger.ts';
import type { ListenerLease } from '../timer/listenerLease.ts';
import type { TriggerListener } from '../triggerListener.ts';
import { bodyData } from '../typedData.ts';

/** Pause between two scans, in milliseconds. */
const pollMs = 1_000;

export interface BlobListenerOptions {
  fn: AppFunction<BlobTrigger>;
  blobs: BlobServiceClient;
  queues: QueueServiceClient;
  /** The container `azure-webjobs-hosts`. */
  hosts: ContainerClient;
  hostId: string;
  lease: ListenerLease;
  leaseRetryInterval: number;
  options: HostJson['extensions']['blobs'];
  invoker: Invoker;
  logger: Logger;
  clock: Clock;
}

export function createBlobListener(listener: BlobListenerOptions): TriggerListener {
  const { fn, blobs, queues, hosts, hostId, lease, leaseRetryInterval, options, invoker, logger, clock } =
    listener;
  const { containerName, pattern, dataType } = fn.trigger;
  const container = blobs.getContainerClient(containerName);
  const captured = patternOf(pattern);
  const receipts = `blobreceipts/${hostId}/${fn.name}/`;
  const limit = pLimit(options.maxDegreeOfParallelism);
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  let loop: Promise<void> = Promise.resolve();

  const warn = (what: string, error: unknown) =>
    logger.log('warning', `Host.Triggers.Blobs.${fn.name}`, `${containerName}: ${what}: ${String(error)}`, {
      functionName: fn.name,
    });

  async function live(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (await lease.tryAcquire()) await scanUnderLease();
      } catch (error) {
        if (!stopping.signal.aborted) warn('it cannot be scanned', error);
      }
      await clock.sleep(leaseRetryInterval, stopping.signal).catch(() => {});
    }
  }

  async function scanUnderLease(): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, stopping.signal]);
    const kept = lease.keep(signal).finally(() => lost.abort());
    kept.catch(() => {});
    const done = new Set<string>();
    for await (const { name } of hosts.listBlobsFlat({ prefix: receipts }))
      done.add(name.slice(receipts.length));
    while (!signal.aborted) {
      await scan(done);
      await clock.sleep(pollMs, signal).catch(() => {});
    }
  }

  async function scan(done: Set<string>): Promise<void> {
    try {
      for await (const blob of container.listBlobsFlat()) {
        const version = `${blob.properties.etag}/${containerName}/${blob.name}`;
        const names = captured(blob.name);
        if (names === undefined || done.has(version)) continue;
        done.add(version);
        const work = limit(() => process(blob, names, version))
          .catch((error: unknown) => {
            done.delete(version);
            warn(blob.name, error);
          })
          .finally(() => running.delete(work));
        running.add(work);
      }
    } catch (error) {
      // The container may come later.
      if (!isGone(error)) throw error;
    }
  }

  async function process(blob: BlobItem, names: Record<string, string>, version: string): Promise<void> {
    for (let tries = 0; tries < options.poisonBlobThreshold; tries++) {
      if (stopping.signal.aborted) return;
      const input = await read(blob, names);
      if (input === undefined) return;
      const succeeded = await invoker.invoke(fn, input).then(
        () => true,
        () => false,
      );
      if (succeeded) return writeReceipt(version);
    }
    const poison = queues.getQueueClient('webjobs-blobtrigger-poison');
    await poison.createIfNotExists();
    const message = {
      FunctionId: `Host.Functions.${fn.name}`,
      BlobType: blob.properties.blobType,
      ContainerName: containerName,
      BlobName: blob.name,
      ETag: blob.properties.etag,
    };
    await poison.sendMessage(Buffer.from(JSON.stringify(message)).toString('base64'));
    await writeReceipt(version);
  }

  /** Undefined if this version has been deleted or overwritten. */
  async function read({ name, properties }: BlobItem, names: Record<string, string>) {
    const client = container.getBlobClient(name);
    try {
      const content = await client.downloadToBuffer(0, undefined, {
        conditions: { ifMatch: properties.etag },
      });
      const metadata = (await client.getProperties()).metadata ?? {};
      const triggerMetadata: Record<string, TypedData> = {
        BlobTrigger: { string: `${containerName}/${name}` },
        Uri: { string: client.url },
        Properties: { json: JSON.stringify(properties) },
        Metadata: { json: JSON.stringify(metadata) },
        ...Object.fromEntries(Object.entries(names).map(([key, string]) => [key, { string }])),
      };
      return { data: bodyData(content, dataType), triggerMetadata };
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async function writeReceipt(version: string): Promise<void> {
    await hosts.getBlockBlobClient(receipts + version).upload('', 0);
  }

  return {
    async start() {
      loop = live();
    },
    async stop() {
      stopping.abort();
      await lease.release();
    },
    async close() {
      await Promise.all([loop, ...running]);
    },
  };
}

const isGone = (error: unknown) => error instanceof RestError && [404, 412].includes(error.statusCode ?? 0);
