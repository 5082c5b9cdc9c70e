import { mkdirSync, writeFileSync } from 'node:fs';
import type { TrialResult } from './trial.ts';

/** Holds the evidence of broken trials. */
const folder = '.local/crash';

/** Writes the output of a trial's hosts and the final state of its invoices to a file. Returns the file's name. */
export function keepTrial(id: string, { logs, invoices }: Pick<TrialResult, 'logs' | 'invoices'>): string {
  const file = `${folder}/${id}.log`;
  const hosts = [...logs].map(([instance, lines]) => `== ${instance}\n${lines.join('\n')}\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, [...hosts, `== invoices\n${JSON.stringify(invoices, null, 1)}\n`].join('\n'));
  return file;
}
