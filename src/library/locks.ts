/**
 * `payonce/locks`: locks that one process holds at a time, as leases that notice when they are lost and carry a fencing
 * token. A store keeps them: `payonce/locks/blob` and others, or one of your own (see `payonce/testing`).
 */
export * from '../locking/index.ts';
export { type Clock, systemClock } from '../platform/clock.ts';
export { type Attributes, noTelemetry, type Telemetry } from '../platform/telemetry.ts';
