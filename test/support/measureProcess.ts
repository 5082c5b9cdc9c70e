/**
 * Preloaded into a host and its worker (`NODE_OPTIONS=--import`, measuredProcesses.ts): measures how long each event loop is
 * blocked and how much memory each process takes, and writes both to a file of its own in `MEASURED_FOLDER` twice a second.
 * SIGUSR2 starts the event loop's figure over.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const folder = process.env.MEASURED_FOLDER;
if (folder !== undefined) {
  const file = join(folder, `${process.pid}.json`);
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  process.on('SIGUSR2', () => delay.reset());
  let memory = 0;
  setInterval(() => {
    memory = Math.max(memory, process.memoryUsage.rss());
    const figures = {
      pid: process.pid,
      role: process.argv[1]?.includes('worker') ? 'worker' : 'host',
      blockedMs: Math.round(delay.max / 1e6),
      memoryMb: Math.round(memory / 1_048_576),
    };
    writeFileSync(`${file}.new`, JSON.stringify(figures));
    renameSync(`${file}.new`, file);
  }, 500).unref();
}
