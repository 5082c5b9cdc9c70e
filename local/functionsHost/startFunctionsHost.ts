/**
 * Lifecycle of a host:
 *   loading  – the app's entry points run and register their functions
 *   starting – listeners connect; functions answer 503
 *   running  – every trigger takes work
 *   stopping – no new work; running functions have 30 s to finish
 *   stopped
 */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../../src/platform/clock.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type AppFunction, readFunctions, type Trigger } from './appFunctions.ts';
import type { LogLevel, ProgrammingModel, TypedData } from './coreTypes.ts';
import type { DurableEngine } from './durable/index.ts';
import { prepareEnvironment, readHostId, readKeys } from './hostEnvironment.ts';
import { ignoredMembers, readHostJson } from './hostJson.ts';
import { HostStartError } from './hostStartError.ts';
import { adminHandler } from './http/admin.ts';
import { createHttpServer, type RequestHandler } from './http/httpServer.ts';
import { createInvoker } from './invoker.ts';
import { createListeners } from './listeners.ts';
import { loadApp } from './loadApp.ts';
import { createLogger } from './logger.ts';
import { manualInput } from './manualRun.ts';
import { createOutputSender } from './outputs/outputSender.ts';
import { registeredApp, runHooks } from './registeredApp.ts';
import type { Settings } from './settings.ts';

/** Milliseconds that running functions have to finish when the host stops. */
const drainTime = 30_000;

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
  writeLine?: (line: string) => void;
  clock?: Clock;
}

export interface FunctionsHost extends AsyncDisposable {
  address: string;
  instanceId: string;
  /** Loaded entry points. */
  files: string[];
  functions: { name: string; trigger: Trigger }[];
  /** Takes no new work and runs the appTerminate hooks. Resolves once nothing is running, or after 30 s. */
  stop(): Promise<void>;
}

let hasApp = false;

/**
 * Loads a Functions app and runs its triggers. Resolves once they take work.
 *
 * One app per process: the programming model registers functions process-wide and settings live in
 * `process.env`, so a second call throws. Tests that need several hosts start main.ts several times.
 * @throws HostStartError if the app, its bindings, host.json or a setting is unusable
 */
export async function startFunctionsHost(options: FunctionsHostOptions): Promise<FunctionsHost> {
  const { port, timerSingleton = true, writeLine = console.log, clock = systemClock } = options;
  if (hasApp) throw new HostStartError('this process already hosts an app: one app per process');
  hasApp = true;
  const appDir = realpathSync(resolve(options.appDir));
  const instanceId = prepareEnvironment(options.settings ?? {});
  const settings = process.env;
  const hostJson = readHostJson(appDir, settings);
  const keys = options.enableAuth === true ? readKeys(settings) : undefined;

  const logger = createLogger(hostJson.logging.logLevel, writeLine);
  registeredApp.log = (level, message) => logger.log(level, 'Host.Worker', message);
  for (const name of ignoredMembers(hostJson)) {
    logger.log('warning', 'Host.Startup', `host.json: extensions.${name} has no effect on this host`);
  }

  const { name, files } = await loadApp(appDir);
  const model = registeredApp.programmingModel;
  if (model === undefined)
    throw new HostStartError(`${appDir}: no function was registered through @azure/functions`);
  const functions = readFunctions(registeredApp.functions.values(), settings);
  const forwardTo = await addressForStreams(model);
  const hookContext = { hookData: registeredApp.appOnlyHookData, appHookData: registeredApp.appHookData };
  await runHooks('appStart', { ...hookContext, functionAppDirectory: appDir });
  registeredApp.locked = true;

  let durable: DurableEngine | undefined;
  let clientData: TypedData = { json: 'null' };
  let stopped: Promise<void> | undefined;
  const outputs = createOutputSender(hostJson.extensions.queues.messageEncoding);
  const invoker = createInvoker({
    model,
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
    forwardTo,
    handlers: [answerDurable, adminHandler({ keys, status, run: runManually })],
  });
  const listeners = [
    http,
    ...(await createListeners({
      functions,
      hostJson,
      settings,
      hostId,
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
    durable = await startDurableFunctions({ functions, hostJson, settings, instanceId, invoker, log });
    clientData = { json: JSON.stringify(durable.clientBinding(address)) };
  }
  await Promise.all(listeners.map((listener) => listener.start()));

  const stop = () => (stopped ??= shutDown());

  async function shutDown(): Promise<void> {
    const ended = new AbortController();
    const drained = Promise.all([durable?.stop(), listenersStopped()]).then(() => true);
    const timedOut = clock.sleep(drainTime, ended.signal).then(
      () => false,
      () => true,
    );
    try {
      if (await Promise.race([drained, timedOut])) return;
    } finally {
      ended.abort();
    }
    const names = [...invoker.running].map(([id, running]) => `${running} (${id})`).join(', ');
    logger.log('warning', 'Host', `gave up after ${drainTime} ms; still running: ${names || 'nothing'}`);
  }

  async function listenersStopped(): Promise<void> {
    const stopping = Promise.all(listeners.map((listener) => listener.stop()));
    await runHooks('appTerminate', hookContext).catch((error: unknown) =>
      logger.log('error', 'Host.Worker', `an appTerminate hook failed: ${String(error)}`),
    );
    await stopping;
    await invoker.idle();
    await Promise.all(listeners.map((listener) => listener.close()));
    await outputs.close();
  }

  async function answerDurable(...[request, response, url]: Parameters<RequestHandler>): Promise<boolean> {
    return (
      durable !== undefined &&
      url.pathname.startsWith('/runtime/') &&
      (await durable.handleHttp(request, response))
    );
  }

  function runManually(wanted: string, input: string): boolean {
    const fn = functions.find((one) => one.name.toLowerCase() === wanted.toLowerCase());
    const triggerInput = fn === undefined || takesStreams(fn) ? undefined : manualInput(fn, input);
    if (fn === undefined || triggerInput === undefined) return false;
    // Nobody awaits the outcome; it is in the log.
    void invoker.invoke(fn, triggerInput).catch(() => undefined);
    return true;
  }

  /** Such a function takes its input from a forwarded request only. */
  function takesStreams({ trigger }: AppFunction): boolean {
    return forwardTo !== undefined && trigger.type === 'http';
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
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether any function is a Durable function or uses the Durable client. */
function usesDurableFunctions(functions: AppFunction[]): boolean {
  return functions.some(
    ({ trigger, durableClients }) => trigger.type === 'durable' || durableClients.length > 0,
  );
}

/**
 * Where the app takes HTTP requests itself, if it has turned streams on. Also ends the app's setup, as the worker does when
 * it reports its capabilities.
 */
async function addressForStreams(model: ProgrammingModel): Promise<URL | undefined> {
  const address = (await model.getCapabilities?.({}))?.HttpUri;
  return address === undefined ? undefined : new URL(address);
}
