import type { DeadLetterSource } from '@payonce/jobs/dead-letters';
import type { Instance } from '@payonce/jobs/instance';
import type { OutboxStore } from '@payonce/jobs/outbox';
import type { PaceStore, PauseStore } from '@payonce/jobs/rate';
import type { Job, RunStore } from '@payonce/jobs/runs';
import type { LockStore } from '@payonce/leases';
import type { CorrectionParts } from '../after/corrections.ts';
import type { Customers } from '../archive/customers.ts';
import type { InvoiceArchive } from '../archive/restoreInvoice.ts';
import type { ImportRecords } from '../importing/importRecords.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { AuditTrail, Journal } from './auditTrail.ts';
import type { SignIn } from './caller.ts';
import type { HealthCheck } from './health.ts';

export interface OpsParts {
  invoices: InvoiceStore;
  /** Reads which account of the provider this deployment pays in; undefined before its first call. */
  account: () => Promise<{ mode: string; account?: string } | undefined>;
  outbox: OutboxStore;
  job: Job;
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
  signIn: SignIn;
  environment: string;
  instance: Instance;
}
