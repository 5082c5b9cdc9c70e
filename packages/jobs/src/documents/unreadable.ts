import { partMetric } from '@payonce/leases/telemetry';
import type { Instance } from '../instance.ts';

/** A stored document that does not have the shape it should. */
export interface Unreadable {
  type: string;
  id: string;
  /** Its fault, in one line. */
  problem: string;
}

export type OnUnreadable = (found: Unreadable) => void;

/** Counts each time that a document is passed over, so that an alert stays up; logs each document once. */
export function unreadableReport(instance: Pick<Instance, 'telemetry' | 'log'>): OnUnreadable {
  const logged = new Set<string>();
  return ({ type, id, problem }) => {
    instance.telemetry.count(partMetric.documentUnreadable, { type });
    const name = `${type} "${id}"`;
    if (logged.has(name)) return;
    logged.add(name);
    instance.log(`${name} cannot be read and is passed over: ${problem}`);
  };
}
