import { systemClock } from '../../src/platform/clock.ts';
import type { Instance } from '../../src/platform/instance.ts';
import { noTelemetry } from '../../src/platform/telemetry.ts';

/** A process for tests: real time, no telemetry, a silent log, unless a test says otherwise. */
export function anInstance(changes: Partial<Instance> = {}): Instance {
  return { name: 'host-a', clock: systemClock, telemetry: noTelemetry, log() {}, ...changes };
}
