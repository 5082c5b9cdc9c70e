import { createApp } from './app.ts';
import { readSettings } from './platform/readSettings.ts';

/** The app of this process. Settings that are missing or wrong stop the host here, at start, each of them named. */
export const payonce = createApp(readSettings(process.env));
