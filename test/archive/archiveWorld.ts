import type { DocumentStore } from '../../packages/jobs/src/documents/documentStore.ts';
import type { ArchiveBlobs } from '../../src/archive/archiveFile.ts';
import { archiveSettled } from '../../src/archive/archiveSettled.ts';
import { invoiceArchive, withArchive } from '../../src/archive/restoreInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { addUp } from '../../src/ops/report.ts';
import { memoryArchiveBlobs, memoryArchiveStore } from '../memory/memoryArchive.ts';
import { type MemoryDocumentsOptions, memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { putCounted } from '../support/putCounted.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { restlessClock } from '../support/restlessClock.ts';

export const dayMs = 86_400_000;
/** Time between two ticks of the timer (ms). */
export const tickMs = 3_600_000;

interface Given {
  documents?: DocumentStore;
  blobs?: ArchiveBlobs;
  assertHeld?: () => void;
  stopping?: AbortSignal;
}

const start = Date.parse('2026-01-01T00:00:00.000Z');
const shards = 2;

/** An archive in memory beside an invoice store in memory. Time stands still unless a test moves it. */
export function archiveWorld({ fault, readFault }: MemoryDocumentsOptions = {}) {
  const time = { now: start };
  const clock = restlessClock({ now: () => time.now });
  const files = new Map<string, string>();
  const telemetry = recordedTelemetry();
  const documents = memoryDocuments({
    now: () => time.now,
    ...(fault === undefined ? {} : { fault }),
    ...(readFault === undefined ? {} : { readFault }),
  });
  const ports = { documents, store: memoryArchiveStore(documents), blobs: memoryArchiveBlobs(files) };
  const stored = memoryInvoiceStore(documents, { clock, shards });
  const archive = invoiceArchive({ ...ports, clock, shards });
  const invoices: InvoiceStore = withArchive(stored, archive, 'host-a');
  const instance = { clock, telemetry };

  /** A tick of the timer. What is given takes the place of a port. */
  const run = (given: Given = {}) => {
    const { assertHeld = () => {}, stopping = new AbortController().signal, ...replaced } = given;
    const parts = {
      ...ports,
      ...replaced,
      invoices: stored,
      shards,
      keepDays: 400,
      instance,
    };
    return archiveSettled(parts, { assertHeld }, stopping);
  };

  return {
    run,
    time,
    clock,
    files,
    telemetry,
    documents,
    ports,
    /** Without the archive. */
    stored,
    invoices,
    archive,
    shards,
    shardOf: (id: string) => shardOf(id, shards),
    async put(...given: Partial<Invoice>[]): Promise<void> {
      const invoices = given.map((changes) => {
        const invoice = paidInvoice(changes);
        return { ...invoice, shard: shardOf(invoice.id, shards) };
      });
      await putCounted(documents, invoices, time.now);
    },
    /** Two ticks of the timer, an hour apart: what the first copies, the second moves. */
    async tick(given: Given = {}) {
      await run(given);
      time.now += tickMs;
      const { copied: _, ...moved } = await run(given);
      return moved;
    },
    /**
     * Returns `database` if it has an invoice itself, `archive` if it has a tombstone in its place, otherwise
     * `nowhere`.
     */
    async where(id: string): Promise<'database' | 'archive' | 'nowhere'> {
      const [document] = (await documents.read(shardOf(id, shards), [id])) as { type: string }[];
      if (document === undefined) return 'nowhere';
      return document.type === 'tombstone' ? 'archive' : 'database';
    },
    /** Reads the counters of the summary, and the report of all time. */
    async figures() {
      const { byStatus, archived: _, ...figures } = await invoices.counts(new Date(time.now).toISOString());
      const report = addUp((await invoices.dayCounts({ from: '2000-01-01', to: '2100-01-01' })).counts);
      return { byStatus: Object.fromEntries([...byStatus].filter(([, n]) => n > 0)), ...figures, report };
    },
  };
}

export type ArchiveWorld = ReturnType<typeof archiveWorld>;

/** An invoice that was paid two years before the tests' time, and not changed since. */
export function paidInvoice(changes: Partial<Invoice> = {}): Invoice {
  const paidAt = '2024-01-01T12:00:05.000Z';
  const { actionableAt: _, ...invoice } = anInvoice();
  return {
    ...invoice,
    status: 'paid',
    createdAt: '2023-12-01T00:00:00.000Z',
    payment: { ...invoice.payment, id: `pi_${changes.id ?? invoice.id}`, paidAt },
    timeline: [
      { at: '2023-12-01T00:00:00.000Z', what: 'imported', by: 'test' },
      { at: paidAt, what: 'paid', by: 'host-a' },
    ],
    ...changes,
  };
}
