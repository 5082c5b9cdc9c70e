import type { Clock } from '@payonce/leases/clock';
import type { Telemetry } from '@payonce/leases/telemetry';

/** The process that code runs in: these four travel together. */
export interface Instance {
  /** As it appears in claims, leases, records and timelines. */
  readonly name: string;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  log(message: string): void;
}

/** A process as its callers describe it: by its name at least. Default: the system's clock, and no telemetry. */
export type InstanceOptions = Pick<Instance, 'name'> & Partial<Pick<Instance, 'clock' | 'telemetry'>>;
