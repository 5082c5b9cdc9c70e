/**
 * The path from claim to settlement as a state machine without I/O. The decisions and the writes are the app's own
 * (`planClaims`, `standing`, `chargeUnderKey`, `decideSettlement`, `planSettlement`, `decideDispatch` and their patches).
 * The store, the queue and the provider are as simple as possible: a map with ETags, a list that never loses a message,
 * and a ledger.
 *
 * Each step is one action of a process. A process that takes no further step has died there. A message may be delivered
 * twice, and another process may act between any two steps.
 */
import { z } from 'zod';
import type { Patch } from '../../packages/jobs/src/documents/documentStore.ts';
import {
  decideDispatch,
  type SendResult,
  dispatchPatch,
} from '../../packages/jobs/src/outbox/messageMoves.ts';
import type { OutboxMessage } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { reconciliationFollowUp } from '../../src/after/reconciliation.ts';
import { planClaims } from '../../src/claiming/claimBatch.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import { type Invoice, maxAttempts } from '../../src/invoice/invoice.ts';
import {
  earlierCalls,
  giveBack,
  type Starting,
  standing,
  start,
  startAgain,
} from '../../src/invoice/invoiceChange.ts';
import { chargeUnderKey } from '../../src/paying/chargeUnderKey.ts';
import { repeated } from '../../src/paying/payBatch.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { type PaymentBatch, type PaymentCommand, paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type {
  ChargeOutcome,
  ChargeRequest,
  FoundPayment,
  NotCalled,
  SoughtPayment,
} from '../../src/paying/paymentProvider.ts';
import { decideSettlement, planSettlement } from '../../src/paying/settlement.ts';
import { anInvoice } from '../support/anInvoice.ts';

export const minute = 60_000;
export const hour = 60 * minute;
const claimStaleMs = 5 * minute;
const keyLifeMs = 24 * hour;
const searchLagMs = minute;
const keyNumberSchema = z.object({ keyNumber: z.int() });
const followUps = followUpsOf([reconciliationFollowUp]);

/** An invoice to look up, and the number of the last key sent for it. */
interface LookUp {
  invoiceId: string;
  keyNumber: number;
}

/** Fate of one call, by the network or the card. */
export type Fate =
  | 'answered'
  /** Never arrived. */
  | 'lostBefore'
  /** Carried out, but the answer is lost. */
  | 'lostAfter'
  /** The caller gives up; the call arrives a little later. */
  | 'late'
  | 'rateLimited'
  | 'softDecline'
  | 'hardDecline';

export interface Charge {
  id: string;
  invoiceId: string;
  amountMinor: number;
  key: string;
  at: number;
}

interface Run {
  snapshot: Invoice[];
  batchId: string;
}

interface Consumer {
  batch: PaymentBatch;
  toPay: PaymentCommand[];
  starting: Starting;
  /** Outcomes not settled yet, by invoice id. */
  settlements: Map<string, ReturnType<typeof decideSettlement>>;
}

export class World {
  now = Date.parse('2026-01-01T12:00:00.000Z');
  readonly invoices = new Map<string, Invoice>();
  readonly outbox = new Map<string, OutboxMessage>();
  /** Every message that ever arrived: each may be redelivered at any time. */
  readonly queue: PaymentBatch[] = [];
  readonly runs: Run[] = [];
  readonly consumers: Consumer[] = [];
  readonly ledger: Charge[] = [];
  /** The look-ups ordered by the transactions that parked invoices. */
  readonly lookUps: LookUp[] = [];
  readonly #keys = new Map<string, { at: number; params: string; outcome: ChargeOutcome }>();
  #late: ChargeRequest[] = [];
  #ids = 0;

  constructor(count: number) {
    for (let n = 0; n < count; n++) {
      const id = `inv-${n}`;
      this.invoices.set(id, anInvoice({ id, amountMinor: 1_000 + n, _etag: this.#etag() }));
    }
  }

  advance(ms: number): void {
    // A call in flight arrives soon or not at all.
    for (const request of this.#late) this.#carryOut(request);
    this.#late = [];
    this.now += ms;
  }

  /** A run reads what is due. */
  read(): void {
    const now = this.#iso();
    const due = [...this.invoices.values()].filter(({ actionableAt }) => (actionableAt ?? 'z') <= now);
    if (due.length > 0) this.runs.push({ snapshot: due, batchId: `batch-${this.#ids++}` });
  }

  /** A run claims what it has read: all of it, or nothing if another run was faster. */
  claim(run: Run): void {
    const { batchId, snapshot } = run;
    const claimant = { runId: 'r', instance: 'host', fence: 1 };
    const { patches, messages } = planClaims(snapshot, {
      batchId,
      shard: '00',
      now: this.now,
      claimStaleMs,
      claimant,
      followUps,
    });
    if (!patches.every((patch) => this.#holds(patch))) {
      run.snapshot = snapshot.filter(({ id, _etag }) => this.invoices.get(id)?._etag === _etag);
      return;
    }
    for (const patch of patches) this.#patch(patch);
    for (const message of messages) {
      this.#order(message);
      if (message.destination === 'payment-commands') this.outbox.set(message.id, message);
    }
    run.snapshot = [];
  }

  /** Sends a stored message. With `marked` false the sender dies before it records the result. */
  dispatch({ id, attempts, body, status }: OutboxMessage, result: SendResult, marked: boolean): void {
    if (status !== 'pending') return;
    // A failed send may still have arrived.
    if (result.kind !== 'refused') this.queue.push(paymentBatchSchema.parse(body));
    if (!marked) return;
    const stored = this.outbox.get(id);
    if (stored?.status !== 'pending' || stored.attempts !== attempts) return;
    const patch = dispatchPatch(stored, decideDispatch(stored, result, this.now));
    if (patch !== undefined) this.outbox.set(id, patched(stored, patch));
  }

  /** A consumer takes a message and marks the claims it still holds as `calling`, again where another has. */
  start(batch: PaymentBatch): void {
    const at = this.#iso();
    const staleAt = new Date(this.now + claimStaleMs).toISOString();
    const starting = { batchId: batch.batchId, startId: `start-${this.#ids++}`, staleAt };
    const toPay = batch.commands.flatMap((command) => {
      const {
        invoiceId,
        payment: { keyCreatedAt },
      } = command;
      const claim = this.#heldBy(batch, invoiceId) ? this.invoices.get(invoiceId)?.claim : undefined;
      if (claim === undefined) return [];
      const earlier = earlierCalls(claim);
      // Its claim goes stale, and a run parks it.
      if ((earlier?.attempt ?? 0) >= maxAttempts) return [];
      this.#patch(
        earlier === undefined
          ? start({ invoiceId, keyCreatedAt }, starting)
          : startAgain(invoiceId, earlier, { ...starting, at, by: 'host' }),
      );
      return [repeated(command, earlier)];
    });
    if (toPay.length > 0) this.consumers.push({ batch, toPay, starting, settlements: new Map() });
  }

  /** A consumer that stops returns what it has not called, unless another has started it since. */
  giveBack(consumer: Consumer): void {
    const uncalled = consumer.toPay.filter(({ invoiceId }) => !consumer.settlements.has(invoiceId));
    for (const { invoiceId, attempt } of uncalled) {
      const command = consumer.batch.commands.find((one) => one.invoiceId === invoiceId);
      const again = command !== undefined && attempt > command.attempt;
      const patch = giveBack(
        invoiceId,
        again ? { since: '', attempt: attempt - 1 } : undefined,
        consumer.starting,
      );
      if (this.#holds(patch)) this.#patch(patch);
    }
    consumer.toPay = consumer.toPay.filter((command) => !uncalled.includes(command));
  }

  /** A consumer makes one of its calls. */
  async call({ toPay, settlements }: Consumer, command: PaymentCommand, fate: Fate): Promise<void> {
    if (settlements.has(command.invoiceId) || !toPay.includes(command)) return;
    const provider = {
      charge: async (request: ChargeRequest) => this.#charge(request, fate),
      find: async ({ invoiceId }: SoughtPayment) => this.#find(invoiceId, fate),
    };
    const outcome = await chargeUnderKey(provider, command, this.now);
    settlements.set(command.invoiceId, decideSettlement(command, outcome, defaultSettlementPolicy, this.now));
  }

  /** A consumer settles its outcomes for the claims it still holds. */
  settle(consumer: Consumer): void {
    for (const [id, settlement] of consumer.settlements) {
      const command = consumer.toPay.find(({ invoiceId }) => invoiceId === id);
      if (command === undefined) continue;
      if (this.#heldBy(consumer.batch, id)) {
        const { batchId, shard } = consumer.batch;
        const names = { batchId, shard, settlementId: batchId, by: 'host' };
        const items = [{ command, settlement }];
        const { patches, messages } = planSettlement(items, { ...names, now: this.now, followUps });
        for (const message of messages) this.#order(message);
        for (const patch of patches) this.#patch(patch);
      }
      consumer.toPay = consumer.toPay.filter((each) => each !== command);
    }
    consumer.settlements.clear();
  }

  /** Looks up the payment of a parked invoice, as a person or the reconciliation does. */
  find(invoiceId: string): FoundPayment {
    return this.#find(invoiceId, 'answered');
  }

  #charge(request: ChargeRequest, fate: Fate): ChargeOutcome | NotCalled {
    switch (fate) {
      case 'lostBefore':
        return { kind: 'unknown', message: 'timed out' };
      case 'lostAfter':
        this.#carryOut(request);
        return { kind: 'unknown', message: 'connection reset' };
      case 'late':
        this.#late.push(request);
        return { kind: 'unknown', message: 'timed out' };
      case 'rateLimited':
        // Its turn does not come again in time.
        return { kind: 'notCalled' };
      case 'softDecline':
        return this.#carryOut(request, { kind: 'declined', severity: 'soft', code: 'funds', message: '' });
      case 'hardDecline':
        return this.#carryOut(request, { kind: 'declined', severity: 'hard', code: 'lost', message: '' });
      case 'answered':
        return this.#carryOut(request);
    }
  }

  /** The provider: a key gives the same result for a day, then it is forgotten. */
  #carryOut(request: ChargeRequest, decline?: ChargeOutcome): ChargeOutcome {
    const { idempotencyKey: key, invoiceId, amountMinor } = request;
    const params = JSON.stringify(request);
    const kept = this.#keys.get(key);
    if (kept !== undefined && this.now - kept.at < keyLifeMs) {
      return kept.params === params ? kept.outcome : { kind: 'keyReused', message: 'other parameters' };
    }
    const id = `pi_${this.#ids++}`;
    const outcome = decline ?? { kind: 'succeeded', paymentId: id };
    if (outcome.kind === 'succeeded') this.ledger.push({ id, invoiceId, amountMinor, key, at: this.now });
    this.#keys.set(key, { at: this.now, params, outcome });
    return outcome;
  }

  #find(invoiceId: string, fate: Fate): FoundPayment {
    if (fate !== 'answered') return { kind: 'unknown', message: 'no answer' };
    const found = this.ledger.find(
      (charge) => charge.invoiceId === invoiceId && charge.at + searchLagMs < this.now,
    );
    return found === undefined ? { kind: 'notFound' } : { kind: 'found', paymentId: found.id };
  }

  /** Takes an outbox message stored with a claim or a settlement, and records the look-ups in it. */
  #order(message: OutboxMessage): void {
    if (message.destination !== 'work-items') return;
    for (const { resourceId: invoiceId, stage, input } of workItemSchema.array().parse(message.body)) {
      if (stage === reconciliationFollowUp.name)
        this.lookUps.push({ invoiceId, ...keyNumberSchema.parse(input) });
    }
  }

  #heldBy({ batchId }: PaymentBatch, id: string): boolean {
    return standing(this.invoices.get(id), batchId) === 'held';
  }

  /** A patch without a version is unconditional, so a guard that is switched off shows. */
  #holds({ id, version, where = [] }: Patch): boolean {
    const invoice = this.invoices.get(id);
    if (invoice === undefined || (version !== undefined && invoice._etag !== version)) return false;
    return where.every(({ path, value }) => valueAt(invoice, path) === value);
  }

  #patch(patch: Patch): void {
    const invoice = this.invoices.get(patch.id);
    if (invoice === undefined) throw new Error(`no invoice ${patch.id}`);
    this.invoices.set(patch.id, { ...patched(invoice, patch), _etag: this.#etag() });
  }

  #etag(): string {
    return `"${this.#ids++}"`;
  }

  #iso(): string {
    return new Date(this.now).toISOString();
  }
}

function valueAt(item: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], item);
}

/** A copy with the patch applied. */
function patched<T extends object>(item: T, { set = {}, remove = [], append }: Patch): T {
  const copy = structuredClone(item) as Record<string, unknown>;
  for (const [path, value] of Object.entries(set)) {
    const { owner, name } = placeOf(copy, path);
    owner[name] = value;
  }
  for (const path of remove) {
    const { owner, name } = placeOf(copy, path);
    if (!(name in owner)) throw new Error(`there is no ${path} to remove`);
    delete owner[name];
  }
  if (append !== undefined) {
    const { owner, name } = placeOf(copy, append.path);
    (owner[name] as unknown[]).push(append.value);
  }
  return copy as T;
}

function placeOf(document: Record<string, unknown>, path: string) {
  const names = path.split('.');
  const name = names.pop() ?? '';
  const owner = names.reduce((at, part) => at[part] as Record<string, unknown>, document);
  return { owner, name };
}
