import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Order, type Result, resultSchema } from './orders.ts';
import type { PlanOptions } from './plan/plan.ts';

export interface CampaignOptions extends PlanOptions {
  from: number;
  seeds: number;
  /** Processes side by side. */
  jobs: number;
  /** Count what is known to be open, too. */
  strict: boolean;
  /** Go on after a violation, and tell how often each occurred. */
  all: boolean;
}

const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
const seedsPerOrder = 25;
const progressEveryMs = 5_000;

/** Runs schedules side by side. Resolves with whether everything held. */
export async function campaign(
  { from, seeds, jobs, strict, all, ...shape }: CampaignOptions,
  print: (line: string) => void,
): Promise<boolean> {
  const orders: Order[] = [];
  for (let at = from; at < from + seeds; at += seedsPerOrder) {
    const count = Math.min(seedsPerOrder, from + seeds - at);
    orders.push({ from: at, count, strict, explains: !all, ...shape });
  }
  const began = performance.now();
  const results: Result[] = [];
  let shownAt = began;
  let stopped = false;
  let next = 0;
  print(`seeds ${from} to ${from + seeds - 1}`);
  await Promise.all(Array.from({ length: Math.min(jobs, orders.length) }, () => work()));
  const done = results.flatMap(({ schedules }) => schedules).toSorted((a, b) => a.seed - b.seed);
  print(progress(done.length));
  summarize();
  const failed = done.filter(({ violation }) => violation !== undefined);
  if (all) countViolations();
  else if (failed[0] !== undefined) tellFirst(failed[0].seed);
  return failed.length === 0;

  async function work(): Promise<void> {
    const child = fork(worker, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    try {
      while (!stopped && next < orders.length) {
        const order = orders[next++];
        if (order === undefined) break;
        const result = await answerOf(child, order);
        results.push(result);
        if (result.explanation !== undefined) stopped = true;
        const now = performance.now();
        if (now - shownAt < progressEveryMs) continue;
        shownAt = now;
        print(progress(results.reduce((sum, { schedules }) => sum + schedules.length, 0)));
      }
    } finally {
      child.kill();
    }
  }

  function progress(count: number): string {
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

function answerOf(child: ChildProcess, order: Order): Promise<Result> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      child.off('exit', died);
      resolve(resultSchema.parse(message));
    });
    const died = (code: number | null) =>
      reject(
        new Error(`the process of seeds ${order.from} to ${order.from + order.count - 1} ended with ${code}`),
      );
    child.once('exit', died);
    child.send(order);
  });
}
