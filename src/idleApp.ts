import { noTelemetry, type Telemetry } from '@payonce/leases/telemetry';
import type { App } from './app.ts';
import type { Health } from './ops/answers/reportAnswers.ts';
import { forEachCall } from './ops/calls.ts';
import type { OpsResponse } from './ops/requests.ts';
import { metric } from './platform/appMetrics.ts';
import { problem, problemResponse } from './platform/problem.ts';
import type { BadSettings, Schedules } from './settings/settings.ts';

/** Result of a timer: nothing was done, and why. */
export interface NotStarted {
  waitingFor: readonly string[];
}

/**
 * The app while settings are missing or wrong. Every function is registered, so that a deployment succeeds before the
 * payment key exists; health names the settings, timers do nothing, and messages fail, so that their queues keep or
 * dead-letter them. New settings restart the process.
 */
export function idleApp(bad: BadSettings, schedules: Schedules, telemetry: Telemetry = noTelemetry) {
  const waiting = async (): Promise<NotStarted> => {
    telemetry.count(metric.settingsInvalid);
    return { waitingFor: bad.problems };
  };
  const fail = () => Promise.reject<never>(bad);
  const unavailable = problemResponse(problem(503, bad.message, fieldErrors(bad)));
  const ops: App['ops'] = forEachCall((id) => async () => (id === 'getHealth' ? healthOf(bad) : unavailable));
  return {
    settings: schedules,
    ops,
    processInvoices: waiting,
    sweepOutbox: waiting,
    trackPayments: waiting,
    archiveInvoices: waiting,
    /** Anybody may call this one, so it does not say what is wrong. The provider sends its event again. */
    receiveEvent: async (_request: unknown) => ({ status: 503 }),
    executePayments: (_message: unknown, _delivery?: unknown) => fail(),
    processWorkItem: (_message: unknown) => fail(),
    recordPoison: (_message: unknown, _messageId: string) => fail(),
    runJobGroup: (_task: unknown) => fail(),
    endJobRun: (_end: unknown) => fail(),
  };
}

function healthOf({ problems }: BadSettings): OpsResponse {
  const checks = { settings: { ok: false as const, ms: 0, error: problems.join('; ') } };
  return { status: 503, jsonBody: { status: 'failing', paused: 'unknown', checks } satisfies Health };
}

function fieldErrors({ problems }: BadSettings) {
  return problems.map((text) => {
    const [field = '', ...error] = text.split(': ');
    return { field, error: error.join(': ') };
  });
}
