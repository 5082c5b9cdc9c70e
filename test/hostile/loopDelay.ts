/**
 * Preloaded into a host (`NODE_OPTIONS=--import`): measures how long its event loop is blocked and how much memory it takes,
 * and writes both to the file in `LOOP_DELAY_FILE` twice a second. SIGUSR2 starts over, once the host is up.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const file = process.env.LOOP_DELAY_FILE;
if (file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  process.on('SIGUSR2', () => delay.reset());
  let memory = 0;
  setInterval(() => {
    memory = Math.max(memory, process.memoryUsage.rss());
    const figures = { blockedMs: Math.round(delay.max / 1e6), memoryMb: Math.round(memory / 1_048_576) };
    writeFileSync(`${file}.new`, JSON.stringify(figures));
    renameSync(`${file}.new`, file);
  }, 500).unref();
}
