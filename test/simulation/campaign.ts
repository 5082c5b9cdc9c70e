import { createHash } from 'node:crypto';
import { runSchedules, type SchedulesOptions } from './schedules.ts';

export interface CampaignOptions extends Omit<SchedulesOptions, 'onViolation' | 'onResult'> {
  /** Go on after a violation, and tell how often each occurred. */
  all: boolean;
}

const progressEveryMs = 5_000;

/** Runs schedules side by side. Resolves with whether everything held. */
export async function campaign(
  { all, ...options }: CampaignOptions,
  print: (line: string) => void,
): Promise<boolean> {
  const { from, seeds } = options;
  const began = performance.now();
  let shownAt = began;
  let count = 0;
  print(`seeds ${from} to ${from + seeds - 1}`);
  const results = await runSchedules({
    ...options,
    onViolation: all ? 'goOn' : 'explain',
    onResult({ schedules }) {
      count += schedules.length;
      const now = performance.now();
      if (now - shownAt < progressEveryMs) return;
      shownAt = now;
      print(progress());
    },
  });
  const done = results.flatMap(({ schedules }) => schedules).toSorted((a, b) => a.seed - b.seed);
  print(progress());
  summarize();
  const failed = done.filter(({ violation }) => violation !== undefined);
  if (all) countViolations();
  else if (failed[0] !== undefined) tellFirst(failed[0].seed);
  return failed.length === 0;

  function progress(): string {
    const seconds = (performance.now() - began) / 1000;
    return `${count} of ${seeds} schedules, ${(count / seconds).toFixed(1)} a second`;
  }

  function summarize(): void {
    const hash = createHash('sha256');
    for (const { seed, hash: one } of done) hash.update(`${seed} ${one}\n`);
    const cpuMs = results.reduce((sum, one) => sum + one.cpuMs, 0);
    const hours = done.reduce((sum, { lastedMs }) => sum + lastedMs, 0) / 3_600_000;
    const events = done.reduce((sum, one) => sum + one.events, 0);
    print(
      `${events} events in ${Math.round(hours)} simulated hours; ${(cpuMs / Math.max(1, done.length)).toFixed(0)} ms of ` +
        `processor time a schedule; history ${hash.digest('hex').slice(0, 16)}`,
    );
    const met = new Map<string, number>();
    for (const result of results)
      for (const [name, times] of Object.entries(result.met)) met.set(name, (met.get(name) ?? 0) + times);
    const widest = Math.max(0, ...[...met.keys()].map(({ length }) => length));
    for (const [name, times] of [...met].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      print(`  ${name.padEnd(widest)} ${String(times).padStart(9)}`);
  }

  function countViolations(): void {
    const byInvariant = Map.groupBy(failed, ({ violation }) => violation?.invariant ?? '');
    for (const [invariant, of] of byInvariant)
      print(
        `"${invariant}": ${of.length} schedules, the first with seed ${of[0]?.seed}: ${of[0]?.violation?.what}`,
      );
  }

  function tellFirst(seed: number): void {
    const of = results.find(({ schedules }) => schedules.some((one) => one.seed === seed));
    print('');
    print(`seed ${seed} fails; see all of it with --seed ${seed} --trace`);
    for (const line of of?.explanation ?? []) print(line);
  }
}
