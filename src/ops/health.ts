import { inForce, type PauseStore } from '@payonce/jobs/rate';
import { bounded, type Clock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import type { Health } from './answers/reportAnswers.ts';
import { pauseView } from './pauseCalls.ts';

/** One thing that the app needs, and how to check that it answers. */
export interface HealthCheck {
  name: string;
  /** Resolves if it answers; a rejection says why not. */
  probe: (signal: AbortSignal) => Promise<unknown>;
}

/** Time-out of one probe (ms). */
const probeTimeoutMs = 5_000;

export async function checkHealth(parts: {
  healthChecks: readonly HealthCheck[];
  pauses: Pick<PauseStore, 'read'>;
  instance: { clock: Clock };
}): Promise<Health> {
  const { healthChecks, pauses, instance } = parts;
  const { clock } = instance;
  const paused = bounded(clock, probeTimeoutMs, () => pauses.read())
    .then((pause) => pauseView(inForce(pause, clock.now())))
    .catch(() => 'unknown' as const);
  const results = await Promise.all(
    healthChecks.map(async ({ name, probe }) => {
      const started = clock.monotonic();
      const elapsed = () => Math.round(clock.monotonic() - started);
      try {
        await bounded(clock, probeTimeoutMs, probe);
        return [name, { ok: true as const, ms: elapsed() }] as const;
      } catch (error) {
        return [name, { ok: false as const, ms: elapsed(), error: errorText(error) }] as const;
      }
    }),
  );
  const failing = results.some(([, { ok }]) => !ok);
  return { status: failing ? 'failing' : 'ok', paused: await paused, checks: Object.fromEntries(results) };
}
