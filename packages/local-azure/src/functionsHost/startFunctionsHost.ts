/**
 * Lifecycle of a host:
 *   loading    – the worker loads the app, which registers its functions
 *   starting   – listeners connect; functions answer 503
 *   running    – every trigger takes work
 *   draining   – after SIGTERM, for 10 s: everything goes on, and the app hears nothing of it
 *   finishing  – instead of that, if a person stops the host: no new work, and running functions have 10 s
 *   ending     – no new work; the app's appTerminate hooks run, and the worker is ended after 5 s
 *   stopped
 */
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AppFunction, readFunctions, type Trigger } from './appFunctions.ts';
import { type Clock, systemClock } from './clock.ts';
import type { LogLevel, TypedData } from './coreTypes.ts';
import type { DurableEngine } from './durable/index.ts';
import { webhookPath } from './durable/links.ts';
import { prepareEnvironment, readHostId, readKeys } from './hostEnvironment.ts';
import { ignoredMembers, readHostJson } from './hostJson.ts';
import { HostStartError } from './hostStartError.ts';
import { adminHandler } from './http/admin.ts';
import { answerEmpty } from './http/httpMessage.ts';
import { createHttpServer, type RequestHandler } from './http/httpServer.ts';
import { isAllowed } from './http/keys.ts';
import { createInputReader } from './inputs/inputBinding.ts';
import { createInvoker } from './invoker.ts';
import { createListeners } from './listeners.ts';
import { createLogger } from './logger.ts';
import { describeFunction, manualInput } from './manualRun.ts';
import { createOutputSender } from './outputs/outputSender.ts';
import type { Settings } from './settings.ts';
import { stopHost } from './stopHost.ts';
import { keepWorker, withoutApp } from './worker/worker.ts';

export interface FunctionsHostOptions {
  /** Folder with package.json and host.json. */
  appDir: string;
  /** 0 for any free one. */
  port: number;
  /** Copied into `process.env`, where the app reads them. Variables that are set already win. */
  settings?: Settings;
  /** Requires keys on HTTP functions that are not anonymous; needs the setting FUNCTIONS_MASTER_KEY. */
  enableAuth?: boolean;
  /** False: every host fires its timers, not just the one that holds the listener lease. */
  timerSingleton?: boolean;
  /** An app that cannot be loaded leaves the host up without a function, as in Azure. Default: the host does not start. */
  staysUp?: boolean;
  /** Functions that need what this host lacks are left out, with a warning. Default: the host does not start. */
  skipUnsupported?: boolean;
  /** Port on which the worker's process takes a debugger. Default: it takes none. */
  inspect?: number | undefined;
  writeLine?: (line: string) => void;
  clock?: Clock;
}

export interface FunctionsHost extends AsyncDisposable {
  address: string;
  instanceId: string;
  /** Loaded entry points. */
  files: string[];
  functions: { name: string; trigger: Trigger }[];
  /**
   * `terminated`: as Azure stops a host. Everything goes on for 10 s, then the app is told and has 5 s. `asked`: as suits a
   * person who waits for it. Running functions have 10 s to finish, and then the app is told.
   */
  stop(how: 'terminated' | 'asked'): Promise<void>;
}

/**
 * Loads a Functions app into a worker and runs its triggers. Resolves once they take work. Settings are put into
 * `process.env`, which the worker inherits: one host per process.
 *
 * @throws HostStartError if the app (unless `staysUp`), its bindings, host.json or a setting is unusable
 */
export async function startFunctionsHost(options: FunctionsHostOptions): Promise<FunctionsHost> {
  const { port, timerSingleton = true, writeLine = console.log, clock = systemClock } = options;
  const appDir = realpathSync(resolve(options.appDir));
  const instanceId = prepareEnvironment(options.settings ?? {});
  const settings = process.env;
  const hostJson = readHostJson(appDir, settings);
  const keys = options.enableAuth === true ? readKeys(settings) : undefined;

  const logger = createLogger(hostJson.logging.logLevel, writeLine);
  for (const name of ignoredMembers(hostJson)) {
    logger.log('warning', 'Host.Startup', `host.json: extensions.${name} has no effect on this host`);
  }

  const app = { appDir, logLevel: hostJson.logging.logLevel, inspect: options.inspect };
  const worker = await keepWorker(app, { logger, clock }).catch((error: unknown) => {
    if (options.staysUp !== true || !(error instanceof HostStartError)) throw error;
    // At this level, and without a function: seen on the real host.
    logger.log('information', 'Host.Startup', error.message);
    return withoutApp();
  });
  const { name, files, streamsAddress } = worker.first;
  const leaveOut = (fn: string, reason: string) =>
    logger.log('warning', 'Host.Startup', `function ${fn} is left out: ${reason}`);
  const functions = readFunctions(
    worker.first.functions,
    settings,
    options.skipUnsupported === true ? leaveOut : undefined,
  );

  let durable: DurableEngine | undefined;
  let clientData: TypedData = { json: 'null' };
  // The app's own client asks without a key. On the real host it has a port of its own; here, a path that nobody can guess.
  const rpcPath = `/runtime/rpc/${randomUUID()}/`;
  let stopped: Promise<void> | undefined;
  const outputs = createOutputSender(hostJson.extensions.queues.messageEncoding);
  const inputs = createInputReader();
  const invoker = createInvoker({
    worker,
    inputs,
    outputs,
    logger,
    functionTimeout: hostJson.functionTimeout,
    durableClient: () => clientData,
  });
  const startedAt = clock.monotonic();
  const hostId = readHostId(appDir, name, settings);
  const http = createHttpServer({
    functions: functions.filter(
      (fn): fn is AppFunction<Extract<Trigger, { type: 'http' }>> => fn.trigger.type === 'http',
    ),
    routePrefix: hostJson.extensions.http.routePrefix.replace(/^\/+|\/+$/g, ''),
    keys,
    invoker,
    worker,
    handlers: [
      answerDurable,
      answerInvocations,
      adminHandler({ keys, status, list: () => functions.map(describeFunction), runOf: manualRunOf }),
    ],
  });
  const listeners = [
    http,
    ...(await createListeners({
      functions,
      hostJson,
      settings,
      hostId,
      instanceId,
      timerSingleton,
      invoker,
      logger,
      clock,
    })),
  ];

  const address = `http://127.0.0.1:${await http.listen(port)}`;
  if (usesDurableFunctions(functions)) {
    const { startDurableFunctions } = await import('./durableFunctions.ts');
    const log = (level: LogLevel, message: string) => logger.log(level, 'Host.Triggers.DurableTask', message);
    const key = keys?.durable;
    durable = await startDurableFunctions({ functions, hostJson, settings, instanceId, key, invoker, log });
    clientData = { json: JSON.stringify(durable.clientBinding(address, address + rpcPath)) };
  }
  await Promise.all(listeners.map((listener) => listener.start()));

  const stop = (how: 'terminated' | 'asked') =>
    (stopped ??= stopHost(how, { worker, listeners, durable, invoker, inputs, outputs, logger, clock }));

  async function answerDurable(...[request, response, url]: Parameters<RequestHandler>): Promise<boolean> {
    if (durable === undefined) return false;
    if (url.pathname.startsWith(rpcPath)) {
      request.url = webhookPath + url.pathname.slice(rpcPath.length) + url.search;
    } else if (!url.pathname.toLowerCase().startsWith(webhookPath)) {
      return false;
    } else if (!isAllowed(keys, 'durable', request, url)) {
      answerEmpty(response, 401);
      return true;
    }
    return durable.handleHttp(request, response);
  }

  /** For tests: the open invocations, function name by id. */
  async function answerInvocations(
    ...[request, response, url]: Parameters<RequestHandler>
  ): Promise<boolean> {
    if (request.method !== 'GET' || url.pathname !== '/_local/invocations') return false;
    const body = JSON.stringify(Object.fromEntries(invoker.running));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    return true;
  }

  function manualRunOf(wanted: string): ((input: string) => void) | undefined {
    const fn = functions.find((one) => one.name.toLowerCase() === wanted.toLowerCase());
    if (fn === undefined || takesStreams(fn)) return undefined;
    return (input) => {
      const triggerInput = manualInput(fn, input);
      if (triggerInput === undefined) {
        logger.log('error', `Function.${fn.name}`, 'it cannot be run by hand', {
          functionName: fn.name,
        });
        return;
      }
      // Nobody awaits the outcome; it is in the log.
      void invoker.invoke(fn, triggerInput).catch(() => undefined);
    };
  }

  /** Such a function takes its input from a forwarded request only. */
  function takesStreams({ trigger }: AppFunction): boolean {
    return streamsAddress !== undefined && trigger.type === 'http';
  }

  function status(): Record<string, unknown> {
    return {
      id: hostId,
      state: stopped === undefined ? 'Running' : 'Stopping',
      instanceId,
      processUptime: Math.round(clock.monotonic() - startedAt),
    };
  }

  return {
    address,
    instanceId,
    files,
    functions: functions.map(({ name: functionName, trigger }) => ({ name: functionName, trigger })),
    stop,
    [Symbol.asyncDispose]: () => stop('asked'),
  };
}

/** True if any function is a Durable function or uses the Durable client. */
function usesDurableFunctions(functions: AppFunction[]): boolean {
  return functions.some(
    ({ trigger, durableClients }) => trigger.type === 'durable' || durableClients.length > 0,
  );
}
