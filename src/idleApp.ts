import type { WorkItemOutcome } from '@payonce/jobs/work-items';
import { sendOnce } from '@payonce/jobs/work-items';
import { type Clock, systemClock } from '@payonce/leases/clock';
import { noTelemetry, type Telemetry } from '@payonce/leases/telemetry';
import type { App } from './app.ts';
import type { Health } from './ops/answers/figureAnswers.ts';
import { forEachCall } from './ops/calls.ts';
import type { OpsResponse } from './ops/requests.ts';
import { type Consumed, deliverySchema } from './paying/executePayments.ts';
import { metric } from './platform/appMetrics.ts';
import { problem, problemResponse } from './platform/problem.ts';
import type { QueueReturns, ReturnMessage } from './queueReturns.ts';
import type { BadSettings, Schedules } from './settings/settings.ts';

/** Result of a timer: nothing was done, and why. */
export interface NotStarted {
  waitingFor: readonly string[];
}

/**
 * Delay before a message comes again (ms). A copy takes its place in the queue, so no delivery counts against it, however
 * many days the app waits for its settings.
 */
const awayMs = 2 * 60_000;

/** Dependencies of an idle app. `returns`: where its messages go. Default: nowhere, so each of their deliveries fails. */
interface IdleParts {
  clock?: Clock;
  telemetry?: Telemetry;
  returns?: QueueReturns;
}

const noReturns: QueueReturns = { close: async () => {} };

export type IdleApp = ReturnType<typeof idleApp>;

/**
 * The app while settings are missing or wrong. Every function is registered, so that a deployment succeeds before the
 * payment key exists; health names the settings, timers do nothing, and messages go back to their queues. New settings restart
 * the process.
 */
export function idleApp(
  bad: BadSettings,
  schedules: Schedules,
  { clock = systemClock, telemetry = noTelemetry, returns = noReturns }: IdleParts = {},
) {
  const waiting = async (): Promise<NotStarted> => {
    telemetry.count(metric.settingsInvalid);
    return { waitingFor: bad.problems };
  };
  const fail = () => Promise.reject<never>(bad);
  const putOff = async (send: ReturnMessage | undefined, message: unknown, id?: string) => {
    if (send === undefined) return fail();
    await send(message, awayMs, id);
    return { putOff: bad.message };
  };
  // Lost answers must not make more and more copies in all the days that the app waits.
  const [workItems, poison] = [returns.workItems, returns.poison].map(
    (send) => send && sendOnce(send, clock),
  );
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
    executePayments(message: unknown, delivery: unknown = {}): Promise<Consumed> {
      return putOff(returns.commands, message, deliverySchema.safeParse(delivery).data?.messageId);
    },
    async processWorkItem(message: unknown): Promise<WorkItemOutcome> {
      await putOff(workItems, message);
      return 'putOff';
    },
    async recordPoison(message: unknown, _messageId: string): Promise<string> {
      await putOff(poison, message);
      return `it stays in the poison queue: ${bad.message}`;
    },
    runJobGroup: (_task: unknown) => fail(),
    endJobRun: (_end: unknown) => fail(),
    stop: () => returns.close(),
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
