/**
 * As much of Durable Functions as manual runs need. The orchestrator is the app's own; since it is deterministic, it runs
 * once here instead of being replayed. An activity whose host dies is handed out again after its visibility time-out.
 */
import type { OrchestrationContext } from 'durable-functions';
import type { Orchestrations } from '../../../packages/jobs/src/runs/manualRun.ts';
import {
  type endRunActivity,
  orchestrateRun,
  type runGroupActivity,
} from '../../../packages/jobs/src/runs/orchestrateRun.ts';
import type { Timeline } from '../engine/machine.ts';

interface Task {
  done: boolean;
  failure?: Error;
  value?: unknown;
  onDone: (() => void)[];
}

export interface Durable extends Orchestrations {
  /** Activities wait for a host. */
  offer(): void;
  readonly running: number;
}

export type Activity = typeof runGroupActivity | typeof endRunActivity;

const visibilityMs = 300_000;
const mostAttempts = 12;
const retryMs = 5_000;

/** The next step of an orchestrator. One that throws ends its instance as failed: its run is closed by the next one. */
function stepOf<T>(advance: () => T): T | 'failed' {
  try {
    return advance();
  } catch {
    return 'failed';
  }
}

export function createDurable(
  timeline: Timeline,
  /** Runs an activity on a host; undefined if none takes it. `lost` is called if the host dies. */
  run: (name: Activity, input: unknown, lost: () => void) => Promise<unknown> | undefined,
): Durable {
  const instances = new Map<string, { ended: boolean }>();
  const waiting: (() => void)[] = [];

  function later(ms: number, fire: () => void): void {
    timeline.events.add(timeline.now + ms, () => {
      timeline.running = undefined;
      fire();
    });
  }

  function settle(task: Task, outcome: { value: unknown } | { failure: Error }): void {
    if (task.done) return;
    Object.assign(task, { done: true }, outcome);
    for (const notify of task.onDone.splice(0)) notify();
  }

  function activity(name: Activity, input: unknown, attempts: number): Task {
    const task: Task = { done: false, onDone: [] };
    const attempt = (left: number) => {
      let over = false;
      const lost = () => {
        if (!over) later(visibilityMs, () => attempt(left));
        over = true;
      };
      const result = run(name, input, lost);
      if (result === undefined) {
        waiting.push(() => attempt(left));
        return;
      }
      result.then(
        (value) => {
          if (!over) later(1, () => settle(task, { value }));
          over = true;
        },
        (error: Error) => {
          if (over) return;
          over = true;
          const failure = new Error(`Activity function '${name}' failed: ${error.message}`);
          if (left > 1) later(retryMs, () => attempt(left - 1));
          else later(1, () => settle(task, { failure }));
        },
      );
    };
    later(10, () => attempt(attempts));
    return task;
  }

  return {
    async getStatus(id) {
      if (!instances.has(id)) throw new Error(`there is no instance ${id}`);
    },
    async terminate(id) {
      const instance = instances.get(id);
      if (instance === undefined) throw new Error(`there is no instance ${id}`);
      instance.ended = true;
    },
    async startNew(_name, { instanceId, input }) {
      const instance = { ended: false };
      instances.set(instanceId, instance);
      const df = {
        getInput: () => input,
        get currentUtcDateTime() {
          return new Date(timeline.now);
        },
        createTimer(at: Date): Task {
          const task: Task = { done: false, onDone: [] };
          later(Math.max(0, at.getTime() - timeline.now), () => settle(task, { value: undefined }));
          return task;
        },
        callActivity: (name: Activity, given: unknown) => activity(name, given, 1),
        callActivityWithRetry: (name: Activity, _: unknown, given: unknown) =>
          activity(name, given, mostAttempts),
        setCustomStatus() {},
        Task: {
          any(tasks: Task[]): Task {
            const any: Task = { done: false, onDone: [] };
            for (const task of tasks) {
              if (task.done) settle(any, { value: task });
              else task.onDone.push(() => settle(any, { value: task }));
            }
            return any;
          },
        },
      };
      const steps = orchestrateRun({ df } as unknown as OrchestrationContext);
      const advance = (before: Task | undefined) => {
        if (instance.ended) return;
        const step = stepOf(() =>
          before?.failure === undefined ? steps.next(before?.value) : steps.throw(before.failure),
        );
        if (step === 'failed' || step.done === true) {
          instance.ended = true;
          return;
        }
        const next = step.value as unknown as Task;
        if (next.done) advance(next);
        else next.onDone.push(() => advance(next));
      };
      later(10, () => advance(undefined));
      return instanceId;
    },
    offer() {
      for (const attempt of waiting.splice(0)) attempt();
    },
    get running() {
      return [...instances.values()].filter(({ ended }) => !ended).length;
    },
  };
}
