import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { until } from './until.ts';

const measuredSchema = z.object({
  pid: z.number(),
  role: z.enum(['host', 'worker']),
  blockedMs: z.number(),
  memoryMb: z.number(),
});
export type MeasuredProcess = z.infer<typeof measuredSchema>;

/** Measures hosts and their workers, which run the app: memory, and how long the event loop was blocked at most. */
export function measuredProcesses() {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-measured-'));
  const processes = (): MeasuredProcess[] =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => measuredSchema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))));
  return {
    /** For a host, which passes it on to its worker. */
    env: {
      NODE_OPTIONS: `--import ${import.meta.resolve('./measureProcess.ts')}`,
      MEASURED_FOLDER: folder,
    },
    processes,
    /** Waits for so many processes and begins to measure their event loops anew: loading the app blocks them for seconds. */
    async begin(count: number): Promise<void> {
      await until(
        async () => processes().length,
        (found) => found === count,
      );
      for (const { pid } of processes()) process.kill(pid, 'SIGUSR2');
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The figures of each process in words. */
export function describeProcesses(processes: readonly MeasuredProcess[]): string {
  return processes
    .map(({ role, memoryMb, blockedMs }) => `${role} ${memoryMb} MB, blocked ${blockedMs} ms at most`)
    .toSorted()
    .join('; ');
}
