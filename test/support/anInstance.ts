import type { Instance } from '../../packages/jobs/src/instance.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';

/** A process for tests: real time, no telemetry, a silent log, unless a test says otherwise. */
export function anInstance(changes: Partial<Instance> = {}): Instance {
  return { name: 'host-a', clock: systemClock, telemetry: noTelemetry, log() {}, ...changes };
}
