/**
 * Does what the Durable Task extension does in the real Functions host: keeps a task hub in Azure Storage,
 * runs orchestrators and activities from its queues, and answers clients. The SDK does the replay.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import type { ApiAnswer } from './apiCalls.ts';
import { durableClient } from './client.ts';
import { type Listener, listenToControlQueue } from './controlQueue.ts';
import type { Invoke, TimerLimits } from './functionRunner.ts';
import { historyTable } from './history.ts';
import { instanceTable } from './instances.ts';
import { largeTexts } from './largeText.ts';
import { clientBinding, webhookPath } from './links.ts';
import { answerApi } from './managementApi.ts';
import { messageSender } from './messages.ts';
import { readDurableOptions } from './options.ts';
import { orchestrationWorker } from './orchestrationWorker.ts';
import { type Partitions, startPartitions } from './partitions.ts';
import { ReplayError } from './replay.ts';
import { openTaskHub } from './taskHub.ts';
import { listenToWorkItems } from './workItems.ts';

export interface DurableOptions {
  /** Connection string of the storage account that holds the task hub. */
  connectionString: string;
  hubName: string;
  /** The key that the webhooks ask for; absent if they ask for none. The caller that passes requests on checks it. */
  key?: string | undefined;
  /** Identifies this host among those of the task hub. */
  instanceId: string;
  orchestrators: string[];
  activities: string[];
  /** `extensions.durableTask` of host.json. */
  hostJson: unknown;
  invoke: Invoke;
  log: (level: 'debug' | 'information' | 'warning' | 'error', message: string) => void;
  /** Longer timers become chains of shorter ones. Default: 6 and 3 days. */
  timers?: TimerLimits;
}

export interface DurableEngine {
  /**
   * Data of a `durableClient` input binding. @param baseUrl origin of this host @param rpcBaseUrl where the SDK's client
   * calls
   */
  clientBinding(baseUrl: string, rpcBaseUrl: string): unknown;
  /** Answers a request under `/runtime/webhooks/durabletask/`; false for any other. */
  handleHttp(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Takes no more work; resolves once running work has ended and the partitions are released. */
  stop(): Promise<void>;
}

const day = 24 * 3600 * 1000;

/** @throws HostStartError if the task hub's name or host.json is invalid */
export async function startDurable(options: DurableOptions): Promise<DurableEngine> {
  const {
    hubName,
    key,
    invoke,
    log,
    timers = { maximumShortTimer: 6 * day, longTimerInterval: 3 * day },
  } = options;
  const settings = readDurableOptions(options.hostJson);
  const storage = settings.storageProvider;
  const hub = await openTaskHub(options.connectionString, hubName, storage.partitionCount);
  const large = largeTexts(hub.largeMessages);
  const history = historyTable(hub, large);
  const instances = instanceTable(hub, large);

  let partitions: Partitions | undefined;
  let workItems: Listener | undefined;
  const send = messageSender(hub, large, (target) => {
    if (target === 'workItems') workItems?.wake();
    else partitions?.wake(target.partition);
  });
  const replacesRunning = settings.overridableExistingInstanceStates === 'AnyState';
  const client = durableClient({ instances, history, send, large, replacesRunning });
  const work = orchestrationWorker({
    history,
    instances,
    send,
    invoke,
    check: functionCheck(options),
    replacesRunning,
    ...timers,
  });

  // An app that only starts orchestrations leaves the work to the hosts that have the functions.
  if (options.activities.length > 0) {
    workItems = listenToWorkItems(hub.workItems, {
      maxConcurrent: settings.maxConcurrentActivityFunctions,
      visibility: storage.workItemQueueVisibilityTimeout,
      longestPause: storage.maxQueuePollingInterval,
      invoke,
      send,
      large,
      log,
    });
  }
  if (options.orchestrators.length > 0) {
    const limit = pLimit(settings.maxConcurrentOrchestratorFunctions);
    partitions = startPartitions({
      container: hub.leases,
      names: hub.controlQueues.map(({ name }) => name),
      hostId: options.instanceId,
      leaseInterval: storage.leaseInterval,
      renewInterval: storage.leaseRenewInterval,
      acquireInterval: storage.leaseAcquireInterval,
      log,
      listen(partition) {
        const queue = hub.controlQueues[partition];
        if (queue === undefined) throw new Error(`there is no partition ${partition}`);
        return listenToControlQueue(queue, {
          batchSize: storage.controlQueueBatchSize,
          visibility: storage.controlQueueVisibilityTimeout,
          longestPause: storage.maxQueuePollingInterval,
          work,
          limit,
          large,
          log,
        });
      },
    });
  }

  return {
    clientBinding: (baseUrl, rpcBaseUrl) => clientBinding(baseUrl, rpcBaseUrl, { hubName, key }),

    async handleHttp(request, response) {
      const origin = `http://${request.headers.host ?? 'localhost'}`;
      const url = new URL(request.url ?? '/', origin);
      if (!url.pathname.toLowerCase().startsWith(webhookPath)) return false;
      const path = url.pathname.slice(webhookPath.length).split('/').filter(Boolean).map(decodeURIComponent);
      const { method = 'GET', headers } = request;
      const body = await text(request);
      let answer: ApiAnswer;
      try {
        answer = await answerApi(
          { method, path, query: url.searchParams, headers, body, origin, url: url.href },
          { client, hubName, key, orchestrators: options.orchestrators },
        );
      } catch (error) {
        log('error', `${method} ${url.pathname}: ${String(error)}`);
        answer = {
          status: 500,
          body: { message: `Something went wrong while processing your request: ${String(error)}` },
        };
      }
      respond(response, answer);
      return true;
    },

    async stop() {
      await Promise.all([partitions?.stop(), workItems?.stop()]);
    },
  };
}

function functionCheck(options: DurableOptions) {
  const known = { activity: options.activities, orchestrator: options.orchestrators };
  return (kind: keyof typeof known, name: string): void => {
    if (known[kind].includes(name)) return;
    const names = known[kind].map((one) => `'${one}'`).join(', ');
    throw new ReplayError(
      `The function '${name}' doesn't exist, is disabled, or is not an ${kind} function. ` +
        `Additional info: The following are the known ${kind} functions: ${names}.`,
    );
  };
}

function respond(response: ServerResponse, { status, headers, body }: ApiAnswer): void {
  if (body === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}
