import { inForce, type PauseOrder, pausedWithinMs } from '@payonce/jobs/rate';
import { startRun } from '@payonce/jobs/runs/durable';
import { type PauseAnswer, pausedAnswer, pauseInForceAnswer, resumedAnswer } from './answers/pauseAnswers.ts';
import { call } from './call.ts';
import { optionalReasonBody, reasonBody, timeField } from './fields.ts';
import { badRequest, conflict } from './refusals.ts';

export const pauseCalls = {
  getPause: call({
    method: 'GET',
    route: 'ops/pause',
    tag: 'Runs',
    summary: 'The pause that is in force, if any',
    answer: { json: pauseInForceAnswer },
    async handle(_, { pauses, instance: { clock } }) {
      return { jsonBody: { paused: pauseView(inForce(await pauses.read(), clock.now())) } };
    },
  }),
  pausePayments: call({
    method: 'POST',
    audit: 'pause payments',
    route: 'ops/pause',
    tag: 'Runs',
    summary: 'Within ten seconds no instance begins a claim or a call to the payment provider',
    body: reasonBody.extend({ until: timeField.exactOptional() }),
    answer: { json: pausedAnswer },
    /** A pause that is in force already gets the new reason and end. */
    async handle({ caller, body: { reason, until }, record }, { pauses, instance: { clock } }) {
      const now = clock.now();
      const at = new Date(now).toISOString();
      if (until !== undefined && Date.parse(until) <= now) {
        return badRequest([{ field: 'until', error: `expected a time after now (${at}), got ${until}` }]);
      }
      const pause = { reason, by: caller.actor, at, ...(until === undefined ? {} : { until }) };
      await pauses.begin(pause);
      await record('payments', { reason, until: until ?? null });
      const holdsFrom = new Date(now + pausedWithinMs).toISOString();
      return { jsonBody: { paused: { ...pause, until: until ?? null }, holdsFrom } };
    },
  }),
  resumePayments: call({
    method: 'POST',
    audit: 'resume payments',
    route: 'ops/resume',
    tag: 'Runs',
    summary: 'Ends a pause, and starts a run',
    durable: true,
    body: optionalReasonBody,
    mayBeEmpty: true,
    answer: { json: resumedAnswer },
    problems: [409],
    /** Without a pause in force it does neither. */
    async handle({ caller, body, orchestrations, record }, parts) {
      const { pauses, instance } = parts;
      const now = instance.clock.now();
      const pause = inForce(await pauses.read(), now);
      if (pause === undefined) return { jsonBody: { paused: null, resumed: false } };
      const ended = await pauses.end(pause, { at: new Date(now).toISOString(), by: caller.actor });
      const other = ended ? undefined : inForce(await pauses.read(), now);
      if (other !== undefined) {
        return conflict(`payments were paused again by ${other.by} meanwhile (${other.reason}): ask again`);
      }
      const runId = await startRunNow();
      const { by: pausedBy, at: pausedAt } = pause;
      await record('payments', { reason: body.reason ?? null, pausedBy, pausedAt, runId });
      return { jsonBody: { paused: null, resumed: true, pausedAt, pausedBy, runId } };

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
    },
  }),
};

/** A pause as ops shows it; null if there is none. */
export function pauseView(pause: PauseOrder | undefined): PauseAnswer | null {
  if (pause === undefined) return null;
  const { reason, by, at, until = null } = pause;
  return { reason, by, at, until };
}
