import type { App } from './app.ts';
import type { Health } from './ops/health.ts';
import type { OpsResponse } from './ops/http.ts';
import { metric } from './platform/appMetrics.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { problem, problemResponse } from './platform/problem.ts';
import { functionBudgetMs } from './platform/stopping.ts';
import { noTelemetry, type Telemetry } from './platform/telemetry.ts';
import type { BadSettings, Schedules } from './settings/settings.ts';

/** What timers return: nothing was done, and why. */
export interface Waiting {
  waitingFor: readonly string[];
}

/**
 * How long a message is held before it goes back to its queue, in milliseconds. Each return counts as a delivery, and the
 * last one ends among the dead letters or the poison. So messages are held nearly as long as the host allows: it renews the
 * lock of a Service Bus message for 5 minutes (host.json).
 */
const holdCommandMs = 4 * 60_000;
const holdItemMs = functionBudgetMs;

export type IdleApp = ReturnType<typeof idleApp>;

/**
 * The app while settings are missing or wrong. Every function is registered, so that a deployment succeeds before the
 * payment key exists; health names the settings, timers do nothing, and a message stays in its queue. New settings restart
 * the process.
 */
export function idleApp(
  bad: BadSettings,
  schedules: Schedules,
  { clock = systemClock, telemetry = noTelemetry }: { clock?: Clock; telemetry?: Telemetry } = {},
) {
  const stopping = new AbortController();
  const waiting = async (): Promise<Waiting> => {
    telemetry.count(metric.settingsInvalid);
    return { waitingFor: bad.problems };
  };
  const hold = (ms: number) => async (): Promise<never> => {
    await clock.sleep(ms, stopping.signal).catch(() => {});
    throw bad;
  };
  const unavailable = problemResponse(problem(503, bad.message, fieldErrors(bad)));
  const ops: Pick<App['ops'], 'getHealth'> = { getHealth: async () => healthOf(bad) };
  return {
    settings: schedules,
    ops: new Proxy(ops, {
      get: (calls, name) => Reflect.get(calls, name) ?? (async () => unavailable),
    }) as App['ops'],
    processInvoices: waiting,
    sweepOutbox: waiting,
    trackPayments: waiting,
    /** Anybody may call this one, so it does not say what is wrong. The provider sends its event again. */
    receiveEvent: async (_request: unknown) => ({ status: 503 }),
    executePayments: hold(holdCommandMs) as (message: unknown, delivery?: unknown) => Promise<never>,
    processWorkItem: hold(holdItemMs) as (message: unknown) => Promise<never>,
    recordPoison: hold(holdItemMs) as (message: unknown, messageId: string) => Promise<never>,
    runJobGroup: hold(holdItemMs) as (task: unknown) => Promise<never>,
    endJobRun: hold(holdItemMs) as (end: unknown) => Promise<never>,
    async stop() {
      stopping.abort();
    },
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
