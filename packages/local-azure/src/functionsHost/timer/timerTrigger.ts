/**
 * Lifecycle of a timer in one host:
 *   waiting   – another host holds the listener lease; tries again after a pause
 *   listening – this host fires; losing the lease leads back to waiting
 *   stopped   – by the host
 * Without the singleton lease it listens from the start until stopped.
 */

import type { AppFunction, TimerTrigger } from '../appFunctions.ts';
import type { Clock } from '../clock.ts';
import type { TypedData } from '../coreTypes.ts';
import type { Invoker } from '../invoker.ts';
import type { Logger } from '../logger.ts';
import type { TriggerListener } from '../triggerListener.ts';
import type { ListenerLease } from './listenerLease.ts';
import type { Schedule } from './schedule.ts';
import { afterRun, resume, type ScheduleStatus, type ScheduleStatusStore } from './scheduleStatus.ts';

/** The longest delay a Node timer accepts, in milliseconds. */
const longestSleep = 2 ** 31 - 1;

export interface TimerOptions {
  fn: AppFunction<TimerTrigger>;
  schedule: Schedule;
  /** Absent for schedules under a minute, whose `scheduleStatus` is null. */
  statusStore: ScheduleStatusStore | undefined;
  /** Absent: every host fires. */
  lease: ListenerLease | undefined;
  /** Milliseconds between two attempts to acquire the lease. */
  leaseRetryInterval: number;
  invoker: Invoker;
  logger: Logger;
  clock: Clock;
}

export function createTimerListener(options: TimerOptions): TriggerListener {
  const { fn, schedule, statusStore, lease, leaseRetryInterval, invoker, logger, clock } = options;
  const category = `Host.Triggers.Timer.${fn.name}`;
  const source = { functionName: fn.name };
  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();
  let firing: Promise<void> = Promise.resolve();

  async function acquire(): Promise<boolean> {
    if (lease === undefined) return true;
    try {
      return await lease.tryAcquire();
    } catch (error) {
      logger.log('warning', category, `the listener lease cannot be requested: ${String(error)}`, source);
      return false;
    }
  }

  /** Holds the lease and fires until stopped. @param acquired outcome of the first attempt */
  async function live(acquired: boolean): Promise<void> {
    for (let held = acquired; ; held = await acquire()) {
      if (held) {
        await listenUnderLease();
        logger.log('warning', category, 'lost the listener lease', source);
      } else {
        await clock.sleep(leaseRetryInterval, stopping.signal);
      }
    }
  }

  async function listenUnderLease(): Promise<void> {
    if (lease === undefined) return listen(stopping.signal);
    logger.log('debug', category, 'holds the listener lease', source);
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, stopping.signal]);
    firing = listen(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const kept = lease.keep(signal).finally(() => lost.abort());
    // When renewing ends, so does the schedule. A run in progress is not awaited.
    await Promise.race([kept, firing.then(() => kept)]);
  }

  async function listen(signal: AbortSignal): Promise<void> {
    const { status, isPastDue } = resume(await recorded(), schedule, clock.now());
    let known = status;
    await record(status);
    if (isPastDue && statusStore !== undefined) known = await fire(known, clock.now(), true);
    else if (fn.trigger.runOnStartup) known = await fire(known, clock.now(), false);
    for (;;) {
      const due = schedule.next(clock.now());
      if (due === undefined) {
        logger.log(
          'warning',
          category,
          `the schedule '${fn.trigger.schedule}' has no further occurrence`,
          source,
        );
        return clock.sleep(longestSleep, signal);
      }
      while (clock.now() < due) await clock.sleep(Math.min(due - clock.now(), longestSleep), signal);
      known = await fire(known, due, false);
      signal.throwIfAborted();
    }
  }

  /** Runs the function once with the status so far; resolves with the next, whether or not it threw. */
  async function fire(known: ScheduleStatus, due: number, isPastDue: boolean): Promise<ScheduleStatus> {
    const data = timerData(statusStore === undefined ? null : known, isPastDue);
    await invoker.invoke(fn, { data }).catch(() => undefined);
    const status = afterRun(schedule, due, clock.now());
    await record(status);
    return status;
  }

  async function recorded(): Promise<ScheduleStatus | undefined> {
    try {
      return await statusStore?.read();
    } catch (error) {
      logger.log('warning', category, `the schedule status cannot be read: ${String(error)}`, source);
      return undefined;
    }
  }

  async function record(status: ScheduleStatus): Promise<void> {
    try {
      await statusStore?.write(status);
    } catch (error) {
      logger.log('warning', category, `the schedule status cannot be written: ${String(error)}`, source);
    }
  }

  return {
    async start() {
      loop = live(await acquire()).catch((error: unknown) => {
        if (!stopping.signal.aborted)
          logger.log('error', category, `the timer ended: ${String(error)}`, source);
      });
    },
    async stop() {
      stopping.abort();
      await lease?.release();
    },
    async close() {
      // A run in progress at the stop still records its status.
      await Promise.all([loop, firing]);
    },
  };
}

/** The data from which the programming model builds `{isPastDue, schedule, scheduleStatus}`. */
export function timerData(status: ScheduleStatus | null, isPastDue: boolean): TypedData {
  return {
    json: JSON.stringify({ Schedule: { AdjustForDST: true }, ScheduleStatus: status, IsPastDue: isPastDue }),
  };
}
