import { type ChildProcess, fork } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onStopAsked } from '../onStopAsked.ts';

/** Time between two looks at the app's files, in milliseconds. */
const lookMs = 500;

/** Runs the host, as a child process, anew after each change of the app's files. Never resolves. */
export async function watch(appDir: string, program: string, args: string[]): Promise<never> {
  let host: ChildProcess | undefined;
  const stop = async () => {
    if (host === undefined || host.exitCode !== null || host.signalCode !== null) return;
    const ended = new Promise((resolve) => host?.once('exit', resolve));
    // The host stops when its channel closes, as at Ctrl-C.
    if (host.connected) host.disconnect();
    await ended;
  };
  onStopAsked(() => void stop().then(() => process.exit(0)));
  for (;;) {
    const before = stateOf(appDir);
    host = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    while (stateOf(appDir) === before) await delay(lookMs);
    console.log('the app has changed: the host starts anew');
    await stop();
  }
}

/** Names and times of the files that make the app, without packages and hidden folders. */
function stateOf(appDir: string): string {
  const files = globSync('**/*.{js,cjs,mjs,ts,cts,mts,json}', {
    cwd: appDir,
    exclude: (name) => name === 'node_modules' || name.startsWith('.'),
  });
  const times = files.map((file) => statSync(join(appDir, file), { throwIfNoEntry: false })?.mtimeMs);
  return JSON.stringify([files, times]);
}
