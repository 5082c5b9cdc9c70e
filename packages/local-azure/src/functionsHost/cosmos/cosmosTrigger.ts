import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeedStartFrom, type Container, CosmosClient } from '@azure/cosmos';
import type { AppFunction, CosmosTrigger } from '../appFunctions.ts';
import type { Clock } from '../clock.ts';
import type { Invoker } from '../invoker.ts';
import type { Logger } from '../logger.ts';
import type { TriggerListener } from '../triggerListener.ts';
import { type ChangeLease, changeLeases } from './changeLease.ts';

export interface CosmosListenerOptions {
  fn: AppFunction<CosmosTrigger>;
  instanceId: string;
  invoker: Invoker;
  logger: Logger;
  clock: Clock;
}

type FeedRange = Awaited<ReturnType<Container['getFeedRanges']>>[number];

/**
 * Reads the change feed of a container and runs the function with each page of changes. Every feed range has a lease, and with it
 * the place that has been reached. As on the real host, a function that throws does not get its changes again.
 */
export function createCosmosListener({
  fn,
  instanceId,
  invoker,
  logger,
  clock,
}: CosmosListenerOptions): TriggerListener {
  const { trigger } = fn;
  const client = new CosmosClient(trigger.connection);
  const leaseClient =
    trigger.leaseConnection === undefined ? client : new CosmosClient(trigger.leaseConnection);
  const monitored = client.database(trigger.databaseName).container(trigger.containerName);
  const leaseDatabase = leaseClient.database(trigger.leaseDatabaseName ?? trigger.databaseName);
  const leases = changeLeases(
    leaseDatabase.container(trigger.leaseContainerName),
    instanceId,
    () => clock.now(),
    trigger.leaseExpirationInterval,
  );
  const stopping = new AbortController();
  const warn = (what: string) =>
    logger.log('warning', `Host.Triggers.CosmosDB.${fn.name}`, `${trigger.containerName}: ${what}`, {
      functionName: fn.name,
    });
  /** Positions from which ranges are read that have no lease yet. */
  const startedAt = new Date(clock.now());
  let running: Promise<unknown> = Promise.resolve();

  const pause = (ms: number) => clock.sleep(ms, stopping.signal).catch(() => {});

  async function run(): Promise<void> {
    let ranges: readonly FeedRange[] | undefined;
    while (ranges === undefined && !stopping.signal.aborted) {
      ranges = await prepare().catch(async (error: unknown) => {
        warn(String(error));
        await pause(trigger.leaseAcquireInterval);
        return undefined;
      });
    }
    await Promise.all((ranges ?? []).map(follow));
  }

  async function prepare(): Promise<readonly FeedRange[]> {
    if (trigger.createLeaseContainerIfNotExists)
      await leaseDatabase.containers.createIfNotExists({
        id: trigger.leaseContainerName,
        partitionKey: { paths: ['/id'], version: 2 },
      });
    return monitored.getFeedRanges();
  }

  /** Reads a range whenever this host has its lease. */
  async function follow(range: FeedRange): Promise<void> {
    const { minInclusive } = range as unknown as { minInclusive: string };
    const id = [
      trigger.leaseContainerPrefix,
      fn.name,
      trigger.databaseName,
      trigger.containerName,
      minInclusive,
    ].join('.');
    while (!stopping.signal.aborted) {
      try {
        const lease = await leases.acquire(id);
        if (lease !== undefined) await read(range, lease);
      } catch (error) {
        if (!stopping.signal.aborted) warn(String(error));
      }
      await pause(trigger.leaseAcquireInterval);
    }
  }

  async function read(range: FeedRange, acquired: ChangeLease): Promise<void> {
    const pages = monitored.items.getChangeFeedIterator({
      changeFeedStartFrom: startOf(range, acquired),
      maxItemCount: trigger.maxItemsPerInvocation,
    });
    let lease: ChangeLease | undefined = acquired;
    while (!stopping.signal.aborted) {
      const { result, continuationToken } = await pages.readNext();
      const changes = result ?? [];
      if (changes.length > 0) lease = await underLease(lease, () => invoke(changes));
      lease = lease && (await leases.renew(lease, continuationToken));
      if (lease === undefined) return;
      if (changes.length === 0) await pause(trigger.feedPollDelay);
    }
    await leases.release(lease);
  }

  function startOf(range: FeedRange, { continuation }: ChangeLease) {
    if (continuation !== undefined) return ChangeFeedStartFrom.Continuation(continuation);
    if (trigger.startFromBeginning) return ChangeFeedStartFrom.Beginning(range);
    return ChangeFeedStartFrom.Time(trigger.startFromTime ?? startedAt, range);
  }

  /** Keeps the lease while the work runs. Undefined if it is lost by then. */
  async function underLease(lease: ChangeLease, work: () => Promise<void>): Promise<ChangeLease | undefined> {
    const done = new AbortController();
    const kept = (async () => {
      let held: ChangeLease | undefined = lease;
      while (held !== undefined) {
        await clock.sleep(trigger.leaseRenewInterval, done.signal).catch(() => {});
        if (done.signal.aborted) break;
        held = await leases.renew(held);
      }
      return held;
    })();
    await work();
    done.abort();
    return kept;
  }

  async function invoke(changes: unknown[]): Promise<void> {
    try {
      await invoker.invoke(fn, { data: { json: JSON.stringify(changes) } });
    } catch {
      // The invoker has logged it.
    }
  }

  return {
    async start() {
      running = run();
    },
    async stop() {
      stopping.abort();
    },
    async close() {
      await Promise.race([running, delay(2_000, undefined, { ref: false })]);
      client.dispose();
      if (leaseClient !== client) leaseClient.dispose();
    },
  };
}
