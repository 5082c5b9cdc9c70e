import { readFileSync } from 'node:fs';
import type { Host } from '../localApp.ts';

/** Megabytes of memory that a process holds now. Undefined where `/proc` does not say: only Linux has it. */
export function residentMb(pid: number | undefined): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
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
