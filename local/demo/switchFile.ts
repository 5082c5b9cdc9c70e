import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** Guards against a second charge: docs/exactly-once.md. */
export const moneyGuards = ['lease', 'claim', 'key'] as const;
export type MoneyGuard = (typeof moneyGuards)[number];

const switches = z.object({
  /** Guards that are off. */
  off: z.array(z.enum(moneyGuards)),
  /** From when until when the key's guard was off (ISO 8601), the latest last. The end of a time that goes on is in the future. */
  keyOff: z.array(z.object({ from: z.string(), until: z.string() })),
  /** Offset of the clock of each host that has one (ms). */
  clocks: z.record(z.string(), z.number()),
});
export type Switches = z.infer<typeof switches>;

/** Name of the setting that tells a host where the switches are. */
export const switchFileSetting = 'DEMO_SWITCHES';

export function readSwitches(file: string): Switches {
  return switches.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * True if an invoice has a key of its own, as it was first claimed at `claimedAt` (ISO 8601) while the guard was off. It keeps the
 * kind of key that it had: otherwise the switch itself would charge twice.
 */
export function hasOwnKey({ keyOff }: Pick<Switches, 'keyOff'>, claimedAt: string): boolean {
  return keyOff.some(({ from, until }) => claimedAt >= from && claimedAt < until);
}

/** Replaces the file as a whole, because hosts read it at any time. */
export function writeSwitches(file: string, value: Switches): void {
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}
