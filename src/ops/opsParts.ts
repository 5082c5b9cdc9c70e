import type { CorrectionParts } from '../after/corrections.ts';
import type { Customers } from '../archive/customers.ts';
import type { InvoiceArchive } from '../archive/restoreInvoice.ts';
import type { ImportRecords } from '../importing/importRecords.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { LockStore } from '../locking/index.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import type { PauseStore } from '../pacing/pause.ts';
import type { PaceStore } from '../pacing/schedule.ts';
import type { Instance } from '../platform/instance.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import type { AuditTrail, Journal } from './audit.ts';
import type { Caller } from './caller.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import type { HealthCheck } from './health.ts';
import type { OpsRequest } from './requests.ts';

/** The app's parts that the calls work with. */
export interface OpsParts {
  invoices: InvoiceStore;
  outbox: OutboxStore;
  job: Job;
  /** Shards of this deployment. */
  shards: number;
  /** The job behind `POST ops/bulk`. */
  bulk: Job;
  runs: RunStore;
  lockStore: LockStore;
  pace: PaceStore;
  pauses: PauseStore;
  audit: AuditTrail;
  journal: Journal;
  imports: ImportRecords;
  archive: InvoiceArchive;
  customers: Customers;
  corrections: CorrectionParts;
  deadLetters: readonly DeadLetterSource[];
  healthChecks: readonly HealthCheck[];
  /** @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
  callerOf: (request: OpsRequest) => Caller;
  /** Name of this deployment. */
  environment: string;
  instance: Instance;
}
