import { expect, test } from 'vitest';
import { virtualClock } from '../../../../../test/support/virtualClock.ts';
import type { ListenerLease } from '../../../src/functionsHost/timer/listenerLease.ts';
import { parseSchedule } from '../../../src/functionsHost/timer/schedule.ts';
import type { ScheduleStatus } from '../../../src/functionsHost/timer/scheduleStatus.ts';
import { createTimerListener } from '../../../src/functionsHost/timer/timerTrigger.ts';
import { fromTypedData } from '../../../src/functionsHost/typedData.ts';

const noon = Date.parse('2026-01-01T12:00:00Z');
const minute = 60_000;

interface Options {
  schedule?: string;
  runOnStartup?: boolean;
  recorded?: ScheduleStatus;
  lease?: ListenerLease;
  /** Body of a run; `run` counts from 1. */
  work?: (run: number) => Promise<void>;
}

/** A listener on its own clock, set to noon. `runs` are the minutes past noon at which it fired. */
function timerAtNoon({ schedule = '0 * * * * *', runOnStartup = false, recorded, lease, work }: Options) {
  const clock = virtualClock(noon);
  const runs: number[] = [];
  const inputs: unknown[] = [];
  let status = recorded;
  const listener = createTimerListener({
    fn: {
      name: 'tick',
      triggerName: 'timer',
      durableClients: [],
      inputs: [],
      outputs: [],
      trigger: { type: 'timer', schedule, runOnStartup, useMonitor: true },
    },
    schedule: parseSchedule(schedule),
    statusStore: {
      read: async () => status,
      write: async (written) => {
        status = written;
      },
    },
    lease,
    leaseRetryInterval: minute,
    invoker: {
      async invoke(_, { data }) {
        runs.push((clock.now() - noon) / minute);
        inputs.push(fromTypedData(data));
        await work?.(runs.length);
        return {};
      },
      idle: async () => {},
      running: new Map(),
    },
    logger: { writes: () => false, log: () => {} },
    clock,
  });
  return { clock, listener, runs, inputs, status: () => status };
}

test('fires at each occurrence, with the status of the last run', async () => {
  const { clock, listener, runs, inputs } = timerAtNoon({});
  await listener.start();
  await clock.advance(3 * minute);
  expect(runs).toEqual([1, 2, 3]);
  expect(inputs.at(-1)).toEqual({
    IsPastDue: false,
    Schedule: { AdjustForDST: true },
    ScheduleStatus: {
      Last: '2026-01-01T12:02:00.000+00:00',
      Next: '2026-01-01T12:03:00.000+00:00',
      LastUpdated: '2026-01-01T12:02:00.000+00:00',
    },
  });
});

test('an exception does not stop the schedule', async () => {
  const { clock, listener, runs } = timerAtNoon({ work: () => Promise.reject(new Error('told to fail')) });
  await listener.start();
  await clock.advance(3 * minute);
  expect(runs).toEqual([1, 2, 3]);
});

test('runs do not overlap; occurrences during a run are skipped', async () => {
  const options = timerAtNoon({
    work: (run) => (run === 1 ? options.clock.sleep(2.5 * minute) : Promise.resolve()),
  });
  await options.listener.start();
  await options.clock.advance(5 * minute);
  expect(options.runs).toEqual([1, 4, 5]);
});

test('catches up at once, as past due, on an occurrence missed while nobody listened', async () => {
  const { clock, listener, runs, inputs } = timerAtNoon({
    schedule: '0 */10 * * * *',
    recorded: {
      Last: '2026-01-01T11:40:00.000+00:00',
      Next: '2026-01-01T11:50:00.000+00:00',
      LastUpdated: '2026-01-01T11:40:01.000+00:00',
    },
  });
  await listener.start();
  await clock.advance(10 * minute);
  expect(runs).toEqual([0, 10]);
  expect(inputs.map((input) => (input as { IsPastDue: boolean }).IsPastDue)).toEqual([true, false]);
});

test('runOnStartup fires at start', async () => {
  const { clock, listener, runs } = timerAtNoon({ runOnStartup: true });
  await listener.start();
  await clock.advance(minute);
  expect(runs).toEqual([0, 1]);
});

test('a schedule weeks away does not fire early', async () => {
  const { clock, listener, runs } = timerAtNoon({ schedule: '0 0 12 1 3 *' });
  await listener.start();
  await clock.advance(60 * 24 * 60 * minute);
  expect(runs).toEqual([59 * 24 * 60]);
});

test('after a stop nothing fires; the run in progress still records its status', async () => {
  const options = timerAtNoon({ work: () => options.clock.sleep(minute / 2) });
  const { clock, listener, runs, status } = options;
  await listener.start();
  await clock.advance(minute);
  await listener.stop();
  const closed = listener.close();
  await clock.advance(5 * minute);
  await closed;
  expect(runs).toEqual([1]);
  expect(status()?.Last).toBe('2026-01-01T12:01:00.000+00:00');
});

test('waits without the lease; once it is lost, fires nothing until it holds it again', async () => {
  let isFree = false;
  let lose = () => {};
  let held = 0;
  const { clock, listener, runs } = timerAtNoon({
    schedule: '30 * * * * *',
    lease: {
      async tryAcquire() {
        if (!isFree) return false;
        held++;
        return true;
      },
      keep: () =>
        new Promise((resolve) => {
          lose = resolve;
        }),
      release: async () => {},
    },
  });
  await listener.start();
  await clock.advance(2 * minute);
  expect(runs).toEqual([]);
  isFree = true;
  await clock.advance(2 * minute);
  expect(runs).toEqual([3.5]);
  isFree = false;
  lose();
  await clock.advance(2 * minute);
  expect(runs).toEqual([3.5]);
  isFree = true;
  await clock.advance(2 * minute);
  expect(held).toBe(2);
  // At 7 it catches up on what nobody fired in between.
  expect(runs).toEqual([3.5, 7, 7.5]);
});
