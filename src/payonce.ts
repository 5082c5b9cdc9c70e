import { createApp } from './app.ts';
import { loadLockStore } from './lockStores.ts';
import { exportTelemetry } from './platform/exportTelemetry.ts';
import { readSettings } from './settings/readSettings.ts';

/** Settings that are missing or wrong stop the host here, at start, each of them named. */
const settings = readSettings(process.env);
const stopTelemetry = await exportTelemetry(settings.telemetry, settings.instanceId);

/** The app of this process. */
export const payonce = createApp(settings, { openLocks: await loadLockStore(settings.locks) });

/** Ends the app, then sends the last of its metrics. */
export async function stopPayonce(): Promise<void> {
  await payonce.stop();
  await stopTelemetry();
}
