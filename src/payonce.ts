import { hostname } from 'node:os';
import { createApp } from './app.ts';
import { idleApp } from './idleApp.ts';
import { loadLockStore } from './lockStores.ts';
import { appTelemetry } from './platform/appMetrics.ts';
import { ClientMissing } from './platform/clientMissing.ts';
import { exportTelemetry } from './platform/exportTelemetry.ts';
import { readSchedules, readTelemetry } from './settings/readParts.ts';
import { readSettings } from './settings/readSettings.ts';
import { BadSettings, type Settings } from './settings/settings.ts';

const started = await start();

/**
 * The app of this process. Settings that are missing or wrong do not stop it: then it answers health, which names each of
 * them, and does nothing else.
 */
export const { payonce } = started;

/** Ends the app in the time that the host grants. */
export function stopPayonce(): Promise<void> {
  return started.stop();
}

async function start() {
  try {
    return await startApp(readSettings(process.env));
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error;
    console.error(error.message);
    await exportTelemetry({ telemetry: readTelemetry(process.env), traces: undefined, instance: hostname() });
    return { payonce: idleApp(error, readSchedules(process.env), appTelemetry()), stop: async () => {} };
  }
}

async function startApp(settings: Settings) {
  const openLocks = await orBadSettings(loadLockStore(settings.locks));
  const stopTelemetry = await orBadSettings(exportTelemetry({ ...settings, instance: settings.instanceId }));
  const payonce = createApp(settings, { openLocks });
  return { payonce, stop: () => payonce.stop(stopTelemetry) };
}

/** Awaits what is loading. Reports a package that is missing as a wrong setting. @throws {BadSettings} */
async function orBadSettings<T>(loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    throw error instanceof ClientMissing ? new BadSettings([error.message.replace(' ', ': ')]) : error;
  }
}
