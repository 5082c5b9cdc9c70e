/** Runs schedules in processes of their own. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Order, type Result, resultSchema } from './orders.ts';
import type { PlanOptions } from './plan/plan.ts';

export interface SchedulesOptions extends PlanOptions {
  from: number;
  seeds: number;
  /** Processes side by side. */
  jobs: number;
  /** Count what is known to be open, too. */
  strict: boolean;
  onViolation: Order['onViolation'];
  /** The name of a fault that is put into the app (sabotage/sabotages.ts). */
  sabotage?: string | undefined;
  /** Called with each part of the results as it comes. */
  onResult?: (result: Result) => void;
}

const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
const putIn = new URL('sabotage/putIn.ts', import.meta.url).href;
const seedsPerOrder = 25;

/** Resolves with the results in the order in which they came. Unless it is to go on, it ends soon after a violation. */
export async function runSchedules(options: SchedulesOptions): Promise<Result[]> {
  const { from, seeds, jobs, strict, onViolation, sabotage, onResult, ...shape } = options;
  const orders: Order[] = [];
  for (let at = from; at < from + seeds; at += seedsPerOrder) {
    const count = Math.min(seedsPerOrder, from + seeds - at);
    orders.push({ from: at, count, strict, onViolation, ...shape });
  }
  const results: Result[] = [];
  let stopped = false;
  await Promise.all(Array.from({ length: Math.min(jobs, orders.length) }, work));
  return results;

  async function work(): Promise<void> {
    const child = startWorker({ sabotage });
    try {
      while (!stopped) {
        const order = orders.shift();
        if (order === undefined) break;
        const result = await answerOf(child, order);
        results.push(result);
        onResult?.(result);
        if (onViolation !== 'goOn' && result.schedules.some(({ violation }) => violation !== undefined))
          stopped = true;
      }
    } finally {
      child.kill();
    }
  }
}

/** `sabotage`: the name of a fault that is put into the app before anything of it is loaded. */
export function startWorker({ sabotage, ...place }: WorkerOptions = {}): ChildProcess {
  const faults = sabotage === undefined ? [] : ['--import', putIn];
  return fork(worker, sabotage === undefined ? [] : [sabotage], {
    ...place,
    execArgv: ['--disable-warning=ExperimentalWarning', ...faults],
  });
}

interface WorkerOptions extends Pick<ForkOptions, 'env' | 'cwd'> {
  sabotage?: string | undefined;
}

export function answerOf(child: ChildProcess, order: Order): Promise<Result> {
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
