import { randomUUID } from 'node:crypto';
import type { Instance } from '@payonce/jobs/instance';
import { errorText } from '@payonce/leases/error-text';
import { metric } from '../platform/appMetrics.ts';
import type { AuditEntry, AuditTrail, Journal, Made } from './auditTrail.ts';
import { type Caller, named } from './caller.ts';

/** The journal has what is about to be done; the audit trail, what became of it. */
export interface Recording {
  audit: Pick<AuditTrail, 'append'>;
  journal: Journal;
  instance: Pick<Instance, 'clock' | 'telemetry' | 'log'>;
}

/** The journal did not take the intent, so nothing may be done. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded';
  constructor(cause: unknown) {
    super('it could not be recorded, so nothing was done', { cause });
  }
}

/** An act that is on record before it is done. */
export interface Intent {
  /** Adds to the audit trail what was done. The intent is on record, so a failure is only reported. */
  record: (target: string, detail: NonNullable<AuditEntry['detail']>, made?: Made) => Promise<void>;
  /** Adds the answer to the journal: an HTTP status. A failure is only reported. */
  answered: (outcome: number | 'unknown') => Promise<void>;
}

/** Records what somebody is about to do to each target. @throws {NotRecorded} */
export async function intend(
  { audit, journal, instance }: Recording,
  caller: Pick<Caller, 'actor' | 'actorId'>,
  { action, targets, changes }: { action: string; targets: readonly string[]; changes: object },
): Promise<Intent> {
  const intent = randomUUID();
  const who = named(caller);
  const at = new Date(instance.clock.now()).toISOString();
  const asked = { ...who, action, changes: { ...changes } };
  try {
    await journal.append(targets.map((target) => ({ at, intent, target, ...asked })));
  } catch (error) {
    report(instance, `"${action}" was refused: the journal is away`, error);
    throw new NotRecorded(error);
  }
  return {
    record: (target, detail, made) =>
      recordDone({ audit, instance }, { ...who, action, target, intent, detail }, made),
    answered: (outcome) =>
      journal
        .append([{ at: new Date(instance.clock.now()).toISOString(), intent, outcome }])
        .catch((error: unknown) => report(instance, `the answer to ${intent} is not in the journal`, error)),
  };
}

/** Adds to the audit trail. A failure is only reported. */
export async function recordDone(
  { audit, instance }: Pick<Recording, 'audit' | 'instance'>,
  entry: AuditEntry,
  made?: Made,
): Promise<void> {
  try {
    await audit.append(entry, made);
  } catch (error) {
    const { action, target, intent = 'none' } = entry;
    report(instance, `"${action}" of ${target} is not in the audit trail, intent ${intent}`, error);
  }
}

function report({ telemetry, log }: Recording['instance'], what: string, error: unknown): void {
  telemetry.count(metric.auditFailed);
  log(`${what}: ${errorText(error)}`);
}
