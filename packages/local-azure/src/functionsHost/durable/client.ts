/** Client operations on a task hub. Contention and "no such instance" are results, not errors. */
import { randomUUID } from 'node:crypto';
import type { HistoryEvent } from './events.ts';
import type { HistoryTable } from './history.ts';
import { type Instance, type InstanceFilter, type InstanceTable, isOver } from './instances.ts';
import type { LargeTexts } from './largeText.ts';
import type { MessageSender } from './messages.ts';

export type ClientSignal =
  | { kind: 'raise'; name: string; input: string | null }
  | { kind: 'terminate' | 'suspend' | 'resume'; reason: string | null };

export interface DurableClient {
  start(request: {
    name: string;
    instanceId: string;
    version: string | null;
    /** JSON text. */
    input: string | null;
  }): Promise<'started' | 'exists'>;
  signal(instanceId: string, signal: ClientSignal): Promise<'sent' | 'unknown' | 'over'>;
  read(instanceId: string): Promise<Instance | undefined>;
  readHistory(instanceId: string): Promise<HistoryEvent[]>;
  list: InstanceTable['list'];
  purge(instanceId: string): Promise<'purged' | 'unknown' | 'running'>;
  /** Purges all finished instances that match; resolves with their number. */
  purgeAll(filter: InstanceFilter): Promise<number>;
}

export function durableClient(options: {
  instances: InstanceTable;
  history: HistoryTable;
  send: MessageSender;
  large: LargeTexts;
  /** True if a start may replace a running instance. */
  replacesRunning: boolean;
}): DurableClient {
  const { instances, history, send, large } = options;

  async function remove(instanceId: string): Promise<void> {
    await history.remove(instanceId);
    await large.removeAll(instanceId);
    await instances.remove(instanceId);
  }

  return {
    async start({ name, instanceId, version, input }) {
      const existing = await instances.read(instanceId);
      if (existing !== undefined && !isOver(existing.runtimeStatus) && !options.replacesRunning)
        return 'exists';
      const executionId = randomUUID();
      const at = new Date().toISOString();
      // Message before row: a crash in between leaves an instance that runs, not one that never starts.
      await send.toInstance({
        Event: {
          EventType: 'ExecutionStarted',
          EventId: -1,
          Timestamp: at,
          Name: name,
          Version: version,
          Input: input,
          ParentInstance: null,
        },
        OrchestrationInstance: { InstanceId: instanceId, ExecutionId: executionId },
      });
      const row: Instance = {
        instanceId,
        executionId,
        name,
        runtimeStatus: 'Pending',
        createdTime: at,
        lastUpdatedTime: at,
        input,
        output: null,
        customStatus: null,
      };
      if (await instances.claim(row, existing?.etag)) return 'started';
      // Either the worker was faster and wrote the row of this execution, or another start won.
      const winner = await instances.read(instanceId);
      return winner === undefined || winner.executionId === executionId ? 'started' : 'exists';
    },

    async signal(instanceId, signal) {
      const instance = await instances.read(instanceId);
      if (instance === undefined) return 'unknown';
      if (isOver(instance.runtimeStatus)) return 'over';
      await send.toInstance({
        Event: toEvent(signal),
        OrchestrationInstance: { InstanceId: instanceId, ExecutionId: null },
      });
      return 'sent';
    },

    read: (instanceId) => instances.read(instanceId),

    async readHistory(instanceId) {
      return (await history.read(instanceId))?.events ?? [];
    },

    list: (filter, page) => instances.list(filter, page),

    async purge(instanceId) {
      const instance = await instances.read(instanceId);
      if (instance === undefined) return 'unknown';
      if (!isOver(instance.runtimeStatus)) return 'running';
      await remove(instanceId);
      return 'purged';
    },

    async purgeAll(filter) {
      const over: string[] = [];
      let continuation: string | undefined;
      do {
        const page = await instances.list(filter, { continuation });
        over.push(
          ...page.instances
            .filter(({ runtimeStatus }) => isOver(runtimeStatus))
            .map(({ instanceId }) => instanceId),
        );
        ({ continuation } = page);
      } while (continuation !== undefined);
      for (const instanceId of over) await remove(instanceId);
      return over.length;
    },
  };
}

function toEvent(signal: ClientSignal): HistoryEvent {
  const base = { EventId: -1, Timestamp: new Date().toISOString(), MessageId: randomUUID() };
  switch (signal.kind) {
    case 'raise':
      return { EventType: 'EventRaised', ...base, Name: signal.name, Input: signal.input };
    case 'terminate':
      return {
        EventType: 'ExecutionTerminated',
        ...base,
        Input: signal.reason === null ? null : JSON.stringify(signal.reason),
      };
    case 'suspend':
      return { EventType: 'ExecutionSuspended', ...base, Input: signal.reason };
    case 'resume':
      return { EventType: 'ExecutionResumed', ...base, Input: signal.reason };
  }
}
