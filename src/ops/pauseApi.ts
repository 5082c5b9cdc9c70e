import { z } from 'zod';
import { inForce, type Pause, type PauseStore, pausedWithinMs } from '../pacing/pause.ts';
import type { Instance } from '../platform/instance.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import { type Orchestrations, startRun } from '../runs/startRun.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { timeField } from './invoiceQuery.ts';
import { badRequest, conflict, readBody, reasonBodySchema, reasonSchema } from './requests.ts';

interface Parts {
  pauses: PauseStore;
  job: Job;
  runs: RunStore;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

export const pauseRequestSchema = z.strictObject({ reason: reasonSchema, until: timeField.exactOptional() });

/**
 * `POST ops/pause` `{reason, until?}`: within ten seconds no instance begins a claim or a call to the payment provider. A
 * pause that is in force already gets the new reason and end.
 */
export async function pausePayments(
  request: OpsRequest,
  { pauses, audit, actor, instance: { clock } }: Parts,
): Promise<OpsResponse> {
  const asked = await readBody(request, pauseRequestSchema);
  if (!asked.ok) return asked.response;
  const { reason, until } = asked.value;
  const now = clock.now();
  const at = new Date(now).toISOString();
  if (until !== undefined && Date.parse(until) <= now) {
    return badRequest([{ field: 'until', error: `expected a time after now (${at}), got ${until}` }]);
  }
  const pause = { reason, by: actor, at, ...(until === undefined ? {} : { until }) };
  await pauses.begin(pause);
  await audit.append({
    actor,
    action: 'pause payments',
    target: 'payments',
    detail: { reason, until: until ?? null },
  });
  const holdsFrom = new Date(now + pausedWithinMs).toISOString();
  return { jsonBody: { paused: pauseView(pause), holdsFrom } };
}

/**
 * `POST ops/resume` `{reason?}`: ends the pause and starts a run of what is due. Without a pause in force it does neither.
 */
export async function resumePayments(
  request: OpsRequest,
  orchestrations: Orchestrations,
  parts: Parts,
): Promise<OpsResponse> {
  const { pauses, audit, actor, instance } = parts;
  const asked = await readBody(request, reasonBodySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const now = instance.clock.now();
  const pause = inForce(await pauses.read(), now);
  if (pause === undefined) return { jsonBody: { paused: null, resumed: false } };
  const ended = await pauses.end(pause, { at: new Date(now).toISOString(), by: actor });
  if (!ended) {
    const other = inForce(await pauses.read(), now);
    if (other !== undefined) {
      return conflict(`payments were paused again by ${other.by} meanwhile (${other.reason}): ask again`);
    }
  }
  const runId = await startRunNow();
  await audit.append({
    actor,
    action: 'resume payments',
    target: 'payments',
    detail: { reason: asked.value.reason ?? null, pausedBy: pause.by, pausedAt: pause.at, runId },
  });
  return { jsonBody: { paused: null, resumed: true, pausedAt: pause.at, pausedBy: pause.by, runId } };

  /** Without it the next run of the timer goes on, so a failure changes little. */
  async function startRunNow(): Promise<string | null> {
    try {
      const started = await startRun({ ...parts, orchestrations }, { dryRun: false });
      return started.kind === 'started' ? started.runId : null;
    } catch (error) {
      instance.log(`payments were resumed, but no run was started: ${String(error)}`);
      return null;
    }
  }
}

/** A pause as ops shows it; null if there is none. */
export function pauseView(pause: Pause | undefined) {
  if (pause === undefined) return null;
  const { reason, by, at, until = null } = pause;
  return { reason, by, at, until };
}
