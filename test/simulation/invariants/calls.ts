/**
 * Checks that apply whenever a machine calls the provider, or reports work as done. A machine is judged by
 * what it can know.
 */
import { NoClearAnswer } from '../../../packages/jobs/src/documents/documentStore.ts';
import type { PauseOrder } from '../../../packages/jobs/src/rate/paceStore.ts';
import { inForce, pausedWithinMs } from '../../../packages/jobs/src/rate/pause.ts';
import type { WorkItem } from '../../../packages/jobs/src/workItems/workItem.ts';
import { workItemLockKey } from '../../../packages/leases/src/index.ts';
import { messageLockMs } from '../../../src/paying/messageLock.ts';
import { effectKey } from '../../memory/memoryEffects.ts';
import type { Machine } from '../engine/machine.ts';
import { type Activity, activity } from '../fleet/activity.ts';
import type { TrustedUntil } from '../world/locks.ts';
import { bugIn } from './bugs.ts';
import { createProviderTrouble } from './providerTrouble.ts';
import type { InvoiceDocument } from './steps.ts';
import { createSuspects } from './suspects.ts';
import type { Report } from './violation.ts';

export interface CallChecksParts {
  report: Report;
  now: () => number;
  /** The latest pause, in force or not, and since when it has been stored. */
  pause: () => { pause: PauseOrder; since: number } | undefined;
  /** True if a monotonic clock may have stood still, which no process can know. */
  mayFreeze: boolean;
  invoice: (id: string) => InvoiceDocument | undefined;
  /** Charges per second that all instances may make together; undefined if something goes wrong. */
  rate: number | undefined;
}

/** Over so many seconds charges keep to their rate, but for as many as make no difference. */
const paceSeconds = 10;
const mayExceedBy = { share: 1.2, charges: 5 };

export type CallChecks = ReturnType<typeof createCallChecks>;

/** Stages that may run twice at the same moment. */
const withoutLease: ReadonlySet<string> = new Set(['receipt', 'payment-event']);

export function createCallChecks({ report, now, pause, mayFreeze, invoice, rate }: CallChecksParts) {
  const trouble = createProviderTrouble(now);
  const suspects = createSuspects();
  /** When the latest charges were sent. */
  let latest: number[] = [];
  /** When a batch lost or settled an invoice, by both. */
  const claimsOver = new Map<string, number>();
  /** When an effect was recorded, by the name of its work item or message. */
  const recordedAt = new Map<string, number>();
  /** Calls in flight, by delivery and invoice: true for an invoice that may have crashed a process. */
  const inFlight = new WeakMap<Activity, Map<string, boolean>>();

  return {
    asking: trouble.asking,
    providerFailed: trouble.seen,

    /** A function of the app has thrown. */
    failed({ kind, machine, unanswered }: Activity, error: unknown): void {
      const bug = bugIn(error);
      if (bug !== undefined) report('no bug', `${kind} on ${machine.name} throws ${bug}`);
      if (error instanceof NoClearAnswer && !unanswered)
        report('no bug', `${kind} on ${machine.name} was answered, and throws ${error.message}`);
    },

    wrote(after: InvoiceDocument, before: InvoiceDocument | undefined): void {
      const was = before?.claim?.batchId;
      // A person decides about what is parked. A new key: a delivery that called has lived to settle its answer. An outcome that
      // is unknown no longer: two look-ups, an hour apart, have found no payment, and the key starts over.
      const newKey = before !== undefined && after.payment.keyNumber > before.payment.keyNumber;
      const isKnown = before?.payment.unknownSince !== undefined && after.payment.unknownSince === undefined;
      if (after.status === 'parked' || newKey || isKnown) suspects.clear(after.id);
      if (was !== undefined && was !== after.claim?.batchId) claimsOver.set(`${after.id} ${was}`, now());
    },

    /** The database is as it was at a time (ms): nothing of what it knew since then counts. */
    restored(time: number): void {
      for (const known of [claimsOver, recordedAt])
        for (const [name, at] of known) if (at > time) known.delete(name);
      suspects.clearAll();
    },

    /** A call of any kind goes to the provider. */
    calling(machine: Machine, name: string): void {
      if (isPaused(machine)) report('pause holds', `${machine.name} asks the provider: ${name}`);
    },

    /** A charge goes to the provider. Returns what is to be called with the kind of its outcome. */
    charging(machine: Machine, invoiceId: string): (kind: string) => void {
      keepsPace();
      const { command, beganAt } = activity() ?? {};
      if (command === undefined) {
        report('no claim, no call', `${machine.name} charges without a payment command`, invoiceId);
        return () => {};
      }
      const { batchId, trustedUntil, askedAt } = command;
      // The machine may have stood still since the host took the lock: only the service can tell it how old the lock is.
      const untilTold = typeof askedAt === 'number' ? askedAt + messageLockMs / 2 : trustedUntil;
      if (machine.clock.monotonic() >= Math.max(trustedUntil, untilTold))
        report(
          'message held',
          `${machine.name} calls for ${batchId}, whose message it may have lost`,
          invoiceId,
        );
      const over = claimsOver.get(`${invoiceId} ${batchId}`);
      if (over !== undefined && beganAt !== undefined && over < beganAt)
        report(
          'no claim, no call',
          `${machine.name} calls for ${batchId}, whose claim was over before`,
          invoiceId,
        );
      // Another delivery of the batch has settled the invoice: a call that this one still makes casts no suspicion on it.
      if (invoice(invoiceId)?.claim?.batchId !== batchId) return () => {};
      const ended = callingAlone(machine, invoiceId);
      const answered = suspects.called(machine, invoiceId);
      return (kind) => {
        ended();
        answered(kind);
      };
    },

    /** It refuses a message, and nobody sends a bad one. */
    refusing(machine: Machine, why: string): void {
      if (machine.alive) report('nothing lost', `${machine.name} refuses a good message: ${why}`);
    },

    /** Claims go to the store. */
    claiming(machine: Machine): void {
      if (isPaused(machine)) report('pause holds', `${machine.name} claims`);
    },

    /** The effect of a work item is going to be recorded. */
    recording(machine: Machine, item: WorkItem, trustedUntil: TrustedUntil): void {
      const { resourceId, stage } = item;
      doneBefore(machine, effectKey(item));
      if (withoutLease.has(stage)) return;
      // The lease may have been lost while the stage ran: what it did is recorded all the same.
      if (trustedUntil(workItemLockKey(resourceId, stage)) === undefined)
        report('stale write', `${machine.name} records ${stage} of ${resourceId} without its lease`);
    },

    recordingMessage(machine: Machine, id: string): void {
      doneBefore(machine, id);
    },

    recorded(item: WorkItem): void {
      note(effectKey(item));
    },

    recordedMessage: note,
  };

  function keepsPace(): void {
    if (rate === undefined) return;
    latest = [...latest.filter((at) => at > now() - paceSeconds * 1000), now()];
    if (latest.length > rate * paceSeconds * mayExceedBy.share + mayExceedBy.charges)
      report('keeps the pace', `${latest.length} charges in ${paceSeconds} s, at ${rate} a second`);
  }

  function note(name: string): void {
    if (!recordedAt.has(name)) recordedAt.set(name, now());
  }

  function doneBefore(machine: Machine, name: string): void {
    const at = recordedAt.get(name);
    const { beganAt } = activity() ?? {};
    if (at !== undefined && beganAt !== undefined && at < beganAt)
      report('effect once', `${machine.name} does ${name} again`);
  }

  /** By what the machine can know: a pause that ends by itself ends by its own clock. */
  function isPaused(machine: Machine): boolean {
    const ordered = pause();
    if (ordered === undefined || mayFreeze || now() - ordered.since < pausedWithinMs) return false;
    return inForce(ordered.pause, machine.clock.now()) !== undefined;
  }

  /**
   * An invoice that may have crashed a process is called with nothing else by the delivery of its batch. Two deliveries of one batch
   * divide its invoices between them, and are side by side as two batches are.
   */
  function callingAlone(machine: Machine, invoiceId: string): () => void {
    const claim = invoice(invoiceId)?.claim;
    const delivery = activity();
    // Another delivery has begun to call again: it is for that one to call alone.
    const start = delivery?.starts.get(invoiceId);
    if (claim === undefined || start?.startId !== claim.startedBy || delivery === undefined) return () => {};
    const isSuspect = suspects.isSuspect(invoiceId);
    const others = inFlight.get(delivery) ?? new Map<string, boolean>();
    inFlight.set(delivery, others);
    for (const [other, otherIsSuspect] of others) {
      if (otherIsSuspect || isSuspect)
        report('paid alone', `${machine.name} calls for it and for ${other} at the same time`, invoiceId);
    }
    others.set(invoiceId, isSuspect);
    return () => others.delete(invoiceId);
  }
}

/**
 * Computes until when the lock of a message that was taken or renewed at `since` may be trusted, on the same
 * clock (ms).
 */
export function messageTrustedUntil(since: number): number {
  return since + messageLockMs;
}
