import { readFileSync } from 'node:fs';
import type { Host } from '../localApp.ts';

/**
 * Megabytes of memory that a process and those it has started hold now: a host runs the app in a worker of its own. Undefined
 * where `/proc` does not say: only Linux has it.
 */
export function residentMb(pid: number | undefined): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (kilobytes === undefined) return undefined;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    return children.reduce((sum, child) => sum + (residentMb(Number(child)) ?? 0), Number(kilobytes) / 1024);
  } catch {
    return undefined;
  }
}

export interface PeakMemory {
  /** Looks once. */
  look(): void;
  /** The most that each host has held so far, in megabytes; NaN if it is not known. */
  peaks(): number[];
}

/** Remembers the most memory that each host has held. */
export function watchMemory(hosts: readonly Host[]): PeakMemory {
  const peaks = hosts.map(() => Number.NaN);
  return {
    look() {
      for (const [index, host] of hosts.entries()) {
        const now = residentMb(host.process.pid);
        const before = peaks[index] ?? Number.NaN;
        if (now !== undefined && !(now <= before)) peaks[index] = now;
      }
    },
    peaks: () => [...peaks],
  };
}
