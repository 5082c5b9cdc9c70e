import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** What stands between an invoice and a second charge: docs/exactly-once.md. */
export const guards = ['lease', 'claim', 'key'] as const;
export type Guard = (typeof guards)[number];

const switches = z.object({
  /** Guards that are off. */
  off: z.array(z.enum(guards)),
  /** Offset of the clock of each host that has one (ms). */
  clocks: z.record(z.string(), z.number()),
});
type Switches = z.infer<typeof switches>;

/** Name of the setting that tells a host where the switches are. */
export const switchFileSetting = 'DEMO_SWITCHES';

export function readSwitches(file: string): Switches {
  return switches.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Replaces the file as a whole, because hosts read it at any time. */
export function writeSwitches(file: string, value: Switches): void {
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}
