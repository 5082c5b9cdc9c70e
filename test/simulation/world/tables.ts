/**
 * Contents of the containers beside the invoices: runs, failures and poison records, the audit, the event
 * cursor.
 */

import type { RunRecord } from '../../../packages/jobs/src/runs/runRecord.ts';
import type { RunStore } from '../../../packages/jobs/src/runs/runStore.ts';
import type { PoisonItem, PoisonStore } from '../../../packages/jobs/src/workItems/poison.ts';
import type { EventCursor } from '../../../src/after/readEventList.ts';
import type { AuditEntry, AuditTrail } from '../../../src/ops/auditTrail.ts';
import { effectKey } from '../../memory/memoryEffects.ts';

export interface MemoryRuns extends RunStore {
  all(): readonly RunRecord[];
}

export function memoryRuns(): MemoryRuns {
  const records = new Map<string, RunRecord>();
  const nameOf = (job: string, runId: string) => `${job}/${runId}`;
  const change = (job: string, runId: string, by: (record: RunRecord) => RunRecord) => {
    const record = records.get(nameOf(job, runId));
    if (record?.status !== 'running') return false;
    records.set(nameOf(job, runId), by(record));
    return true;
  };
  return {
    all: () => [...records.values()],
    async create(record) {
      const name = nameOf(record.job, record.id);
      if (records.has(name)) return false;
      records.set(name, record);
      return true;
    },
    read: async (job, runId) => records.get(nameOf(job, runId)),
    async list({ job, status, pageSize }) {
      const found = [...records.values()]
        .filter(
          (one) => (job === undefined || one.job === job) && (status === undefined || one.status === status),
        )
        .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
      return { items: found.slice(0, pageSize) };
    },
    updateGroup: async ({ job, runId }, group, { ...record }, at) =>
      change(job, runId, (run) => {
        const { lockOwner, fence } = record;
        return {
          ...run,
          groups: { ...run.groups, [group]: record },
          heartbeatAt: at,
          ...(lockOwner === undefined ? {} : { lockOwner }),
          ...(fence === undefined ? {} : { fence }),
        };
      }),
    end: async ({ job, runId }, { status, reason, at }) =>
      change(job, runId, (record) => ({
        ...record,
        status,
        completedAt: at,
        heartbeatAt: at,
        ...(reason === undefined ? {} : { reason }),
      })),
  };
}

export interface MemoryPoison extends PoisonStore {
  all(): readonly PoisonItem[];
}

export function memoryPoison(): MemoryPoison {
  const failures = new Map<string, string>();
  const records = new Map<string, PoisonItem>();
  let writes = 0;
  const isUnchanged = ({ id, _etag }: PoisonItem) => {
    const stored = records.get(id);
    return stored?.status === 'poison' && stored._etag === _etag;
  };
  return {
    all: () => [...records.values()],
    async keepFailure(item, { error }) {
      failures.set(effectKey(item), error);
    },
    lastFailure: async (item) => failures.get(effectKey(item)),
    async create(record) {
      if (!records.has(record.id)) records.set(record.id, { ...record, _etag: `${++writes}` });
    },
    list: async (limit, behind = '') =>
      [...records.values()]
        .filter(({ id, status }) => status === 'poison' && id > behind)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit),
    find: async (ids) =>
      [...records.values()].filter(({ id, status }) => status === 'poison' && ids.includes(id)),
    async markDiscarded(item) {
      if (!isUnchanged(item)) return false;
      records.set(item.id, { ...item, status: 'discarded', _etag: `${++writes}` });
      return true;
    },
    waiting: async () => [...records.values()].filter(({ status }) => status === 'poison').length,
    isUnchanged: async (item) => isUnchanged(item),
    async markRedriven(item) {
      if (isUnchanged(item)) records.set(item.id, { ...item, status: 'redriven', _etag: `${++writes}` });
    },
  };
}

export function memoryAudit(now: () => number): AuditTrail & { all(): readonly AuditEntry[] } {
  const entries: (AuditEntry & { id: string; at: string })[] = [];
  return {
    all: () => entries,
    async append(entry, made = { id: `audit-${entries.length}`, at: new Date(now()).toISOString() }) {
      if (!entries.some(({ id }) => id === made.id)) entries.push({ ...entry, ...made });
    },
    list: async ({ from = '', to = '9999', pageSize }) => ({
      items: entries.filter(({ at }) => at.slice(0, 10) >= from && at.slice(0, 10) <= to).slice(-pageSize),
    }),
  };
}

export interface MemoryCursor extends EventCursor {
  /** Seconds; 0 if nothing was read yet. */
  readUntil(): number;
  /** It is again where it was at this time (ms). */
  restore(time: number): void;
}

export function memoryCursor(now: () => number): MemoryCursor {
  let moves: { at: number; to: number }[] = [];
  const readUntil = () => moves.at(-1)?.to;
  return {
    readUntil: () => readUntil() ?? 0,
    restore(time) {
      moves = moves.filter(({ at }) => at <= time);
    },
    read: async () => readUntil(),
    async advance(from, to) {
      if (readUntil() === from) moves.push({ at: now(), to });
    },
  };
}
