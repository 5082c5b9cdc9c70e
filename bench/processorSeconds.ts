import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second of /proc on Linux: 100 on every architecture that Node supports (`getconf CLK_TCK`). */
const ticksPerSecond = 100;

interface Process {
  pid: number;
  parent: number;
  ticks: number;
}

/** Seconds of processor time that a process and its living children have used. NaN where there is no /proc. */
export function processorSeconds(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const all = readdirSync('/proc').flatMap((name) => statOf(name) ?? []);
  let family = all.filter((one) => one.pid === pid);
  let ticks = 0;
  while (family.length > 0) {
    ticks += family.reduce((sum, one) => sum + one.ticks, 0);
    const above = new Set(family.map((one) => one.pid));
    family = all.filter(({ parent }) => above.has(parent));
  }
  return ticks / ticksPerSecond;
}

/** Fields 4, 14 and 15 of proc_pid_stat(5), counted after the name, which may hold spaces. Undefined: it has ended. */
function statOf(name: string): Process | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  let text: string;
  try {
    text = readFileSync(`/proc/${name}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid: Number(name), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}
