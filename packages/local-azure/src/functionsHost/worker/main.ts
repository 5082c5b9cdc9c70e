/** The program of a worker: loads the app and runs its functions, as its host says (protocol.ts). */
import { inspect } from 'node:util';
import { HostStartError } from '../hostStartError.ts';
import { createLogger, type Logger } from '../logger.ts';
import { loadApp } from './loadApp.ts';
import type { FromWorker, LoadedWorker, ToWorker } from './protocol.ts';
import { registeredApp, runHooks } from './registeredApp.ts';
import { asError, runInvocation } from './runInvocation.ts';

let logger: Logger = createLogger({}, console.log);
let appDir = '';

// The host decides when the worker ends; Ctrl-C reaches both.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
// A host that dies takes its machine along.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

process.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'load':
      appDir = message.appDir;
      logger = createLogger(message.logLevel, console.log);
      void load().then(
        (loaded) => tell({ kind: 'loaded', ...loaded }),
        (error: unknown) =>
          tell({
            kind: 'notLoaded',
            error: error instanceof HostStartError ? error.message : inspect(error),
          }),
      );
      return;
    case 'invoke':
      void invoke(message);
      return;
    case 'terminate':
      void terminate();
  }
});

async function load(): Promise<LoadedWorker> {
  registeredApp.log = (level, text) => logger.log(level, 'Host.Worker', text);
  const { name, files } = await loadApp(appDir);
  const model = registeredApp.programmingModel;
  if (model === undefined)
    throw new HostStartError(`${appDir}: no function was registered through @azure/functions`);
  const functions = [...registeredApp.functions.values()].map(({ metadata }) => metadata);
  // This also ends the app's setup, as in the real worker when it reports its capabilities.
  const streamsAddress = (await model.getCapabilities?.({}))?.HttpUri;
  await runHooks('appStart', { ...hookContext(), functionAppDirectory: appDir });
  registeredApp.locked = true;
  return { name, files, functions, streamsAddress };
}

async function invoke(message: Extract<ToWorker, { kind: 'invoke' }>): Promise<void> {
  const { invocationId } = message;
  try {
    tell({ kind: 'returned', invocationId, response: await runInvocation(message, logger) });
  } catch (thrown) {
    const { message: text, stack } = asError(thrown);
    tell({ kind: 'threw', invocationId, error: { message: text, stack } });
  }
}

/** Functions that are still running are cut off: an app that wants to finish them does so in a hook. */
async function terminate(): Promise<void> {
  try {
    await runHooks('appTerminate', hookContext());
  } catch (error) {
    logger.log('error', 'Host.Worker', `an appTerminate hook failed: ${String(error)}`);
  }
  process.exit(0);
}

function hookContext() {
  return { hookData: registeredApp.appOnlyHookData, appHookData: registeredApp.appHookData };
}

function tell(message: FromWorker): void {
  process.send?.(message);
}
