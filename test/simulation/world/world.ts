/** Everything outside the processes, in memory: what instances share, and what the invariants look at. */
import type { PauseOrder, PauseStore } from '../../../packages/jobs/src/rate/paceStore.ts';
import type { Effects } from '../../../packages/jobs/src/workItems/effects.ts';
import type { WorkItem } from '../../../packages/jobs/src/workItems/workItem.ts';
import type { Attributes } from '../../../packages/leases/src/telemetry.ts';
import { memoryLockStore } from '../../../packages/leases/src/testing/memoryLockStore.ts';
import { memoryDocuments, type StoredDocument } from '../../memory/memoryDocuments.ts';
import { effectKey, memoryEffects } from '../../memory/memoryEffects.ts';
import { memoryImportRecords } from '../../memory/memoryImportRecords.ts';
import { memoryJournal } from '../../memory/memoryJournal.ts';
import { memoryPaceStore } from '../../memory/memoryPaceStore.ts';
import { memoryPauseStore } from '../../memory/memoryPauseStore.ts';
import type { Timeline } from '../engine/machine.ts';
import type { InvoiceDocument } from '../invariants/steps.ts';
import type { Provider } from './provider.ts';
import type { ServiceBusQueue } from './serviceBus.ts';
import type { StorageQueue } from './storageQueue.ts';
import { memoryAudit, memoryCursor, memoryPoison, memoryRuns } from './tables.ts';

/** A notification that the webhook's receiver has taken. */
export interface Notification {
  readonly id: string;
  readonly type: string;
  readonly invoiceId: string;
  readonly at: number;
}

/** A metric as an instance reports it, and when (true time, milliseconds). */
export interface TelemetryReport {
  readonly at: number;
  readonly name: string;
  readonly value: number;
  readonly attributes: Attributes;
}

export interface Queues {
  readonly commands: ServiceBusQueue;
  readonly workItems: StorageQueue;
  readonly poison: StorageQueue;
}

export type World = ReturnType<typeof createWorld>;

export function createWorld(
  timeline: Timeline,
  {
    provider,
    queues,
    listsEvents,
    staleMs,
    keepsAll,
    onWrite,
    onEffect,
  }: {
    provider: Provider;
    queues: Queues;
    /** True if the app hears of the provider's events. */
    listsEvents: boolean;
    /** Lag of a read of documents now (ms). Absent: none ever lags. */
    staleMs: (() => number) | undefined;
    /** True if all versions of each document are kept, so that the database can be restored. */
    keepsAll: boolean;
    onWrite: (after: StoredDocument, before: StoredDocument | undefined) => void;
    /** The effect of a work item, or of the message with this id, is recorded. */
    onEffect: (of: WorkItem | string) => void;
  },
) {
  const now = () => timeline.now;
  const stored = new Map<string, StoredDocument>();
  const locks = memoryLockStore(now);
  const effects = memoryEffects();
  /** When the effect of each work item or message was recorded first: another record of it changes nothing. */
  const recordedAt = new Map<string, number>();
  const announcedAt = new Map<string, number>();
  const pauses = memoryPauseStore();
  let ordered: { pause: PauseOrder; since: number } | undefined;
  const signal = new AbortController().signal;

  /** Earlier versions of each document, by partition and id, with the time of their end. */
  const versions = new Map<string, { until: number; document: StoredDocument | undefined }[]>();

  function wrote(after: StoredDocument, before: StoredDocument | undefined): void {
    const name = `${after.shard}/${after.id}`;
    stored.set(name, after);
    if (keepsAll || staleMs !== undefined) {
      const history = [...(versions.get(name) ?? []), { until: timeline.now, document: before }];
      versions.set(name, keepsAll ? history : history.slice(-20));
    }
    onWrite(after, before);
  }

  function recorded(name: string): void {
    if (!recordedAt.has(name)) recordedAt.set(name, timeline.now);
  }

  const documents = memoryDocuments({ now, onWrite: wrote, copies: false });

  return {
    timeline,
    provider,
    queues,
    listsEvents,
    documents,
    staleMs,
    /** A document as it was then; undefined if it was not there. */
    asOf(document: StoredDocument, time: number): StoredDocument | undefined {
      const ended = versions.get(`${document.shard}/${document.id}`)?.find(({ until }) => until > time);
      return ended === undefined ? document : ended.document;
    },
    /** Puts the database back to a time (ms). Returns what it holds since then, and what is gone from it. */
    async restore(time: number): Promise<{ put: StoredDocument[]; gone: StoredDocument[] }> {
      const put: StoredDocument[] = [];
      const gone: StoredDocument[] = [];
      for (const [name, history] of versions) {
        const current = stored.get(name);
        const ended = history.find(({ until }) => until > time);
        if (current === undefined || ended === undefined) continue;
        versions.delete(name);
        if (ended.document === undefined) {
          documents.forget(current.shard, current.id);
          stored.delete(name);
          gone.push(current);
        } else {
          documents.store(ended.document);
          stored.set(name, ended.document);
          put.push(ended.document);
        }
      }
      for (const [id, at] of announcedAt) if (at > time) announcedAt.delete(id);
      effects.keep((name) => (recordedAt.get(name) ?? 0) <= time);
      for (const [name, at] of recordedAt) if (at > time) recordedAt.delete(name);
      return { put, gone };
    },
    /** Invoices that a person has voided, as the app has told them, and that nobody has retried since. */
    voided: new Set<string>(),
    /** The database was put back to an earlier time. */
    isRestored: false,
    /** Every document as it is stored now, by partition and id. */
    stored,
    /** Called with each call to a service. */
    onCall: undefined as ((service: string, name: string) => void) | undefined,
    invoices: new Map<string, InvoiceDocument>(),
    locks,
    pace: memoryPaceStore(),
    imports: memoryImportRecords(now),
    /** The rows that were imported, as a person has them. */
    imported: [] as readonly object[],
    /** The files of the archive. */
    archived: new Map<string, string>(),
    pauses: {
      read: () => pauses.read(),
      async begin(pause) {
        ordered = { pause, since: timeline.now };
        await pauses.begin(pause);
      },
      async end(pause, resumed) {
        if (ordered?.pause.at === pause.at) ordered = undefined;
        return pauses.end(pause, resumed);
      },
    } satisfies PauseStore,
    /** The latest pause that nobody has ended, and when it was stored. */
    pause: () => ordered,
    cursor: memoryCursor(now),
    runs: memoryRuns(),
    effects: {
      has: (item) => effects.has(item),
      hasMessage: (id) => effects.hasMessage(id),
      async record(item, effect) {
        recorded(effectKey(item));
        onEffect(item);
        await effects.record(item, effect);
        if (typeof effect.webhookId === 'string' && !announcedAt.has(effect.webhookId))
          announcedAt.set(effect.webhookId, timeline.now);
      },
      async recordMessage(id, done) {
        recorded(id);
        onEffect(id);
        await effects.recordMessage(id, done);
      },
    } satisfies Effects,
    /** The work items whose effects are recorded. */
    doneItems: (): readonly WorkItem[] => effects.all().map(({ item }) => item),
    /** When it was recorded that a notification was taken, by its id. */
    announcedAt,
    poison: memoryPoison(),
    audit: memoryAudit(now),
    journal: memoryJournal(),
    /** By name: how often each was written. */
    receipts: new Map<string, number>(),
    notifications: [] as Notification[],
    /** Foreign payments that after-restore has told people of. */
    printed: new Set<string>(),
    /** Invoices and payments whose work a queue has lost. */
    lostWork: new Set<string>(),
    /** By refund that was asked for here: the time at which a person made it by hand instead (ms). */
    byHand: new Map<string, number>(),
    /** Messages of a newer release that a queue has lost. */
    lostOfNewer: 0,
    /** Messages that the host gave up for good. */
    lost: [] as string[],
    /** The latest value of each gauge, by its metric's name, and the sum of each counter. */
    gauges: new Map<string, number>(),
    counters: new Map<string, number>(),
    /** Called with each report of an instance's telemetry. */
    onReport: undefined as ((report: TelemetryReport) => void) | undefined,
    parkedMessages: (): string[] =>
      [...stored.values()]
        .filter(({ type, status }) => type === 'outboxMessage' && status === 'parked')
        .map(({ id }) => id),
    /** The locks of jobs that are held, and by whom. */
    async heldLocks(): Promise<{ key: string; owner: string }[]> {
      const held: { key: string; owner: string }[] = [];
      for await (const lock of locks.list('jobs/', signal)) {
        if (lock.held && lock.record !== undefined)
          held.push({ key: lock.key, owner: lock.record.owner.instance });
      }
      return held;
    },
  };
}
