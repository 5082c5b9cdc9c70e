import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { judgeOutage } from './judgeOutage.ts';
import type { OutageCell } from './outageCell.ts';
import { type OutageAnswer, type OutageOrder, outageAnswerSchema } from './outageOrders.ts';

const worker = fileURLToPath(new URL('outageWorker.ts', import.meta.url));

export interface OutageResult extends OutageAnswer {
  cell: OutageCell;
  /** Empty if all went as it should. */
  wrong: string[];
}

/** Simulates outages in `jobs` processes side by side, and hands each result over when it is there. */
export async function runOutages(
  cells: readonly OutageCell[],
  { seed, jobs, onResult = () => {} }: { seed: number; jobs: number; onResult?: (one: OutageResult) => void },
): Promise<OutageResult[]> {
  const results: OutageResult[] = [];
  const left = [...cells];
  await Promise.all(Array.from({ length: Math.min(jobs, cells.length) }, work));
  return results;

  async function work(): Promise<void> {
    const child = fork(worker, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    try {
      for (let cell = left.shift(); cell !== undefined; cell = left.shift()) {
        const answer = await ask(child, { ...cell, away: [...cell.away], seed });
        const wrong = judgeOutage(cell, answer.seen);
        if (answer.violation !== undefined) wrong.push(answer.violation);
        const result = { ...answer, cell, wrong };
        results.push(result);
        onResult(result);
      }
    } finally {
      child.kill();
    }
  }
}

function ask(child: ChildProcess, order: OutageOrder): Promise<OutageAnswer> {
  return new Promise((resolve, reject) => {
    const died = (code: number | null) =>
      reject(new Error(`the process that simulated ${JSON.stringify(order)} ended with ${code}`));
    child.once('exit', died);
    child.once('message', (message) => {
      child.off('exit', died);
      resolve(outageAnswerSchema.parse(message));
    });
    child.send(order);
  });
}
