import type { Connections, TelemetryConnection, TraceSettings } from '../platform/connections.ts';
import type { LockAddress } from './lockAddress.ts';

/** When the timers fire. */
export interface Schedules {
  /** NCRONTAB with seconds. */
  readonly invoiceSchedule: string;
  /** NCRONTAB with seconds. */
  readonly outboxSchedule: string;
}

/** The checked settings of one process. */
export interface Settings extends Connections, Schedules {
  /** Where metrics and traces go. Undefined: nowhere. */
  readonly telemetry: TelemetryConnection | undefined;
  /** Undefined: nothing is traced. */
  readonly traces: TraceSettings | undefined;
  /** `apiBase` has no trailing slash. */
  readonly stripe: { readonly secretKey: string; readonly apiBase: string };
  /** Secrets that sign the events of Stripe; several while one is replaced. None: it sends no events. */
  readonly webhookSecrets: readonly string[];
  readonly shards: number;
  readonly shardGroups: number;
  readonly batchSize: number;
  /** Days after the last change of a settled invoice, after which it moves to the archive. */
  readonly keepDays: number;
  /** The store of locks. */
  readonly locks: LockAddress;
  readonly leaseSeconds: number;
  readonly claimStaleSeconds: number;
  readonly paymentTimeoutSeconds: number;
  /** Calls per second of the payment account: charges, and calls of every kind. */
  readonly allowance: { readonly rate: number; readonly accountRate: number };
  /** Name that this deployment gives its payments in the provider's account. Undefined: one that is made once. */
  readonly deploymentId: string | undefined;
  readonly instanceId: string;
  /** `platform`: App Service signs callers in, and says who they are. `missing`: it has to, and does not. */
  readonly signIn: 'none' | 'platform' | 'missing';
  /** Name by which people know this deployment: that of the function app, or `local`. */
  readonly environment: string;
  /** The webhook to tell about invoice outcomes. Undefined: nobody is told. */
  readonly notify: { readonly url: string; readonly secret: string } | undefined;
}

/** Lists every missing or wrong setting, one per line. No line repeats a secret. */
export class BadSettings extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? 'A setting is' : 'Settings are'} missing or wrong:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'BadSettings';
    this.problems = problems;
  }
}
