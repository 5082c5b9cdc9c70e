import { type Clock, systemClock } from '../../packages/leases/src/clock.ts';

/** Real time that passes `factor` times as fast: both clocks start now, and every wait is as much shorter. */
export function acceleratedClock(factor: number): Clock {
  const wallStart = Date.now();
  const start = performance.now();
  const passed = () => (performance.now() - start) * factor;
  return {
    now: () => Math.round(wallStart + passed()),
    monotonic: () => start + passed(),
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
