import type { Clock } from './clock.ts';
import type { Telemetry } from './telemetry.ts';

/** The process that code runs in: these four travel together. */
export interface Instance {
  /** As it appears in claims, leases, records and timelines. */
  readonly name: string;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  log(message: string): void;
}
