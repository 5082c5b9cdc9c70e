import type { AppFunction } from './appFunctions.ts';
import type { LogLevel } from './coreTypes.ts';
import { type DurableEngine, startDurable } from './durable/index.ts';
import type { HostJson } from './hostJson.ts';
import { HostStartError } from './hostStartError.ts';
import type { Invoker } from './invoker.ts';
import { connectionString, resolveNames, type Settings } from './settings.ts';
import { fromTypedData, toTypedData } from './typedData.ts';

/** Starts the task hub worker, which runs functions through `invoker`. */
export async function startDurableFunctions(options: {
  functions: AppFunction[];
  hostJson: HostJson;
  settings: Settings;
  instanceId: string;
  key: string | undefined;
  invoker: Invoker;
  log: (level: LogLevel, message: string) => void;
}): Promise<DurableEngine> {
  const { functions, hostJson, settings, instanceId, key, invoker, log } = options;
  const { durableTask } = hostJson.extensions;
  const names = (kind: 'orchestration' | 'activity') =>
    functions
      .filter(({ trigger }) => trigger.type === 'durable' && trigger.kind === kind)
      .map(({ name }) => name);
  const byName = new Map(functions.map((fn) => [fn.name, fn]));
  return startDurable({
    connectionString: connectionString('AzureWebJobsStorage', settings),
    // The real host's default when there is no site name.
    hubName: resolveNames(durableTask.hubName ?? 'TestHubName', settings),
    instanceId,
    key,
    orchestrators: names('orchestration'),
    activities: names('activity'),
    hostJson: durableTask,
    async invoke(functionName, input) {
      const fn = byName.get(functionName);
      if (fn === undefined) throw new HostStartError(`there is no function ${functionName}`);
      return fromTypedData((await invoker.invoke(fn, { data: toTypedData(input) })).returnValue);
    },
    log,
  });
}
