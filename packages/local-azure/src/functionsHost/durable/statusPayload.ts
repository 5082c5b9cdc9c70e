import type { HistoryEvent } from './events.ts';
import type { Instance } from './instances.ts';

/** An instance as status queries show it; times without fractions, as the extension writes them. */
export function shown(instance: Instance, withInput: boolean, historyEvents: unknown[] | undefined) {
  return {
    name: instance.name,
    instanceId: instance.instanceId,
    runtimeStatus: instance.runtimeStatus,
    input: withInput ? parsed(instance.input) : null,
    customStatus: parsed(instance.customStatus),
    output: parsed(instance.output),
    createdTime: seconds(instance.createdTime),
    lastUpdatedTime: seconds(instance.lastUpdatedTime),
    ...(historyEvents === undefined ? {} : { historyEvents }),
  };
}

/** The history as the extension shows it: without the events that only mark episodes, results on request. */
export function shownHistory(events: HistoryEvent[], withOutput: boolean): unknown[] {
  return events
    .filter(({ EventType }) => EventType !== 'OrchestratorStarted' && EventType !== 'OrchestratorCompleted')
    .map((event) => {
      const members: Record<string, unknown> = { ...event };
      const { Result } = members;
      for (const hidden of ['EventId', 'Input', 'Result']) delete members[hidden];
      return {
        ...members,
        ...(withOutput && typeof Result === 'string' ? { Result: parsed(Result) } : {}),
      };
    });
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}

function seconds(time: string): string {
  return `${time.slice(0, 19)}Z`;
}
