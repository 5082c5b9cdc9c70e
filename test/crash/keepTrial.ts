import { mkdirSync, writeFileSync } from 'node:fs';
import type { TrialResult } from './trial.ts';

/** Where what is needed to understand a broken trial is kept. */
const folder = '.local/crash';

/** Writes what each host of a trial printed, and how its invoices ended, to a file; gives the file's name. */
export function keepTrial(id: string, { logs, invoices }: Pick<TrialResult, 'logs' | 'invoices'>): string {
  const file = `${folder}/${id}.log`;
  const hosts = [...logs].map(([instance, lines]) => `== ${instance}\n${lines.join('\n')}\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, [...hosts, `== invoices\n${JSON.stringify(invoices, null, 1)}\n`].join('\n'));
  return file;
}
