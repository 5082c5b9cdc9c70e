import type { App } from './app.ts';
import type { Health } from './ops/answers/figureAnswers.ts';
import { forEachCall } from './ops/calls.ts';
import type { OpsResponse } from './ops/requests.ts';
import { type Consumed, deliverySchema } from './paying/executePayments.ts';
import { metric } from './platform/appMetrics.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { errorText } from './platform/errorText.ts';
import { problem, problemResponse } from './platform/problem.ts';
import { functionBudgetMs } from './platform/stopping.ts';
import { noTelemetry, type Telemetry } from './platform/telemetry.ts';
import type { QueueReturns, ReturnMessage } from './queueReturns.ts';
import type { BadSettings, Schedules } from './settings/settings.ts';
import type { WorkItemOutcome } from './workItems/processWorkItem.ts';
import { sendOnce } from './workItems/sendOnce.ts';

/** What timers return: nothing was done, and why. */
export interface NotStarted {
  waitingFor: readonly string[];
}

/**
 * How long a message stays away before it comes again, in milliseconds. A copy takes its place in the queue, so no delivery
 * counts against it, however many days the app waits for its settings.
 */
const awayMs = 2 * 60_000;

/**
 * How long a message is held that the queue did not take back, in milliseconds. Each such delivery counts, and the last one
 * ends among the dead letters or the poison. So it lasts nearly as long as the host allows: the host renews the lock of a
 * Service Bus message for 5 minutes (host.json).
 */
const holdCommandMs = 4 * 60_000;
const holdItemMs = functionBudgetMs;

/** What an idle app works with. `returns`: where its messages go. Default: they are held. */
interface IdleParts {
  clock?: Clock;
  telemetry?: Telemetry;
  returns?: QueueReturns;
  log?: (line: string) => void;
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
  { clock = systemClock, telemetry = noTelemetry, returns = noReturns, log = console.warn }: IdleParts = {},
) {
  const stopping = new AbortController();
  const waiting = async (): Promise<NotStarted> => {
    telemetry.count(metric.settingsInvalid);
    return { waitingFor: bad.problems };
  };
  const hold = async (ms: number): Promise<never> => {
    await clock.sleep(ms, stopping.signal).catch(() => {});
    throw bad;
  };
  const putOff = async (send: ReturnMessage | undefined, message: unknown, heldMs: number, id?: string) => {
    if (send === undefined) return hold(heldMs);
    try {
      await send(message, awayMs, id);
    } catch (error) {
      log(`a message could not be sent back to its queue: ${errorText(error)}`);
      return hold(heldMs);
    }
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
      const { messageId } = deliverySchema.safeParse(delivery).data ?? {};
      return putOff(returns.commands, message, holdCommandMs, messageId);
    },
    async processWorkItem(message: unknown): Promise<WorkItemOutcome> {
      await putOff(workItems, message, holdItemMs);
      return 'putOff';
    },
    async recordPoison(message: unknown, _messageId: string): Promise<string> {
      await putOff(poison, message, holdItemMs);
      return `it stays in the poison queue: ${bad.message}`;
    },
    runJobGroup: (_task: unknown): Promise<never> => hold(holdItemMs),
    endJobRun: (_end: unknown): Promise<never> => hold(holdItemMs),
    async stop() {
      stopping.abort();
      await returns.close();
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
