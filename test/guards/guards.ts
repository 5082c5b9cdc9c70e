import type { Edit } from './edits.ts';

/**
 * One thing that keeps money and its record right, and how it is switched off: by another body of a function, in most cases what the
 * function was (`original`) with one of its parts taken away. A guard in the middle of a long function is switched off from outside,
 * by what the function is given.
 */
export type Guard = Extract<Edit, { of: string }> & {
  name: string;
  /** The test file, and the beginning of the name of a test in it, that must fail without the guard. */
  tests: string;
  caughtBy: string;
};

/** A body of `resolveMethod` that decides on the stored invoice as if it were `seen`. */
function storedSeenAs(seen: string): string {
  return `
    const update: typeof parts.invoices.update = (id, request) =>
      parts.invoices.update(id, { ...request, decide: (stored, write) => request.decide(${seen} as unknown as Invoice, write) });
    return original({ ...parts, invoices: { ...parts.invoices, update } }, batchId, command);`;
}

const claimTests = 'test/claiming/claimBatch.test.ts';
const counterTests = 'test/invoice/counters/exact.test.ts';
const modelTests = 'test/model/payments.test.ts';
const storeTests = 'test/invoice/store/memory.test.ts';
const payTests = 'test/paying/payBatch.test.ts';
const severalTests = 'packages/jobs/test/workItems/processSeveral.test.ts';
const retryTests = 'test/after/retryInvoice.test.ts';
const voidTests = 'test/after/voidInvoice.test.ts';
const notChargedTests = 'test/after/notCharged.test.ts';

export const guards: readonly Guard[] = [
  {
    name: 'ETag condition at the claim',
    of: 'ifUnchanged',
    body: 'const { version: _, ...patch } = original(invoice, change); return patch;',
    tests: storeTests,
    caughtBy: 'of two that read the same page, each invoice is claimed by one',
  },
  {
    name: 'counts in the transaction of what they count',
    of: 'counterKeeper.moving',
    body: 'void documents.transact(shard, original(shard, changes)); return [];',
    tests: counterTests,
    caughtBy: 'after anything, in any order, with any answers lost',
  },
  {
    name: 'horizon condition of the counts',
    of: 'counterPatches',
    body: 'return original(...arguments).map(({ where: _, ...patch }) => patch);',
    tests: counterTests,
    caughtBy: 'after anything, in any order, with any answers lost',
  },
  {
    name: 'ETag condition at the reclaim of a stale claim',
    of: 'ifUnchanged',
    body: `
      const whole = original(invoice, change);
      const { version: _, ...patch } = whole;
      return invoice.claim === undefined ? whole : patch;`,
    tests: claimTests,
    caughtBy: 'two runs see the same stale claims: each is taken over by one of them',
  },
  {
    name: 'claim token at the start',
    of: 'standing',
    body: `
      const is = original(invoice, batchId);
      return is === 'staleClaim' && invoice?.status === 'claimed' ? 'held' : is;`,
    tests: payTests,
    caughtBy: 'a batch whose claims were taken over pays nothing and says so',
  },
  {
    name: 'claim token condition of every write of a batch',
    of: 'claimedBy',
    body: "return original(batchId).filter(({ path }) => path !== 'claim.batchId');",
    tests: payTests,
    caughtBy: 'a claim taken over during the call',
  },
  {
    name: 'paid check at the start',
    of: 'standing',
    body: "const is = original(invoice, batchId); return is === 'settled' ? 'held' : is;",
    tests: payTests,
    caughtBy: 'a message redelivered after settlement makes no call',
  },
  {
    name: 'fence check in the claiming transaction',
    of: 'fenceCheck',
    body: 'return { ...original(...arguments), where: [] } as Operation;',
    tests: claimTests,
    caughtBy: 'a smaller fence token than the store has seen is refused',
  },
  {
    name: 'lease asked before the claim',
    of: 'invoiceWrites.claim',
    body: 'return original({ ...arguments[0], assertHeld: () => {} });',
    tests: claimTests,
    caughtBy: 'a lost lease stops the claim before it writes',
  },
  {
    name: 'idempotency key, the same for the same charge',
    of: 'idempotencyKey',
    body: 'return `${original(invoiceId, n)}-${Math.random()}`;',
    tests: payTests,
    caughtBy: 'unknown after charging: the same key again',
  },
  {
    name: 'key number, kept unless there was a definite decline',
    of: 'commandFor',
    body: `
      const { payment: before, ...command } = original(...arguments);
      return { ...command, payment: { ...before, keyNumber: before.keyNumber + attempt - 1 } };`,
    tests: payTests,
    caughtBy: 'unknown after charging: the same key again',
  },
  {
    name: 'key number, under everything that can happen',
    of: 'commandFor',
    body: `
      const { payment: before, ...command } = original(...arguments);
      return { ...command, payment: { ...before, keyNumber: before.keyNumber + attempt - 1 } };`,
    tests: modelTests,
    caughtBy: 'whatever dies, comes twice, late or never',
  },
  {
    name: 'hash of the parameters of a key',
    of: 'chargeUnderKey',
    body: `
      const paramsHashNow = paramsHash({ ...command, paymentMethod: methodOf(command) ?? '' });
      return original(calls, { ...command, payment: { ...command.payment, paramsHash: paramsHashNow } }, now);`,
    tests: payTests,
    caughtBy: 'parameters other than those of the key',
  },
  {
    name: 'copies of a work item, whatever they tell of earlier tries',
    of: 'workOf',
    body: 'return JSON.stringify(message);',
    tests: 'packages/jobs/test/workItems/sendOnce.test.ts',
    caughtBy: 'copies of a work item are the same work, whatever they tell of earlier tries',
  },
  {
    name: 'age of a key (23 h)',
    of: 'isTooOld',
    body: 'return false;',
    tests: payTests,
    caughtBy: 'a key older than 23 h is never sent',
  },
  {
    name: 'age of a key where the clock of who calls is behind: the time of the message',
    of: 'createExecutePayments.now',
    body: 'return clock.now();',
    tests: 'test/paying/executePayments.test.ts',
    caughtBy: 'Service Bus says how old a key is at least, whatever the clocks of those who claim and pay',
  },
  {
    name: 'age of a key where its message has waited: the time at which its lock was renewed',
    of: 'createExecutePayments.now',
    body: 'return Math.max(clock.now(), sentAt ?? 0);',
    tests: 'test/paying/executePayments.test.ts',
    caughtBy: 'a message that has waited is as late as the renewal of its lock says',
  },
  {
    name: 'age of a key where the clock of who claims is fast: the time of the message',
    of: 'datedByMessage',
    body: 'return batch;',
    tests: 'test/paying/paymentBatch.test.ts',
    caughtBy: 'a key that a clock ahead of time has dated is as old as its message',
  },
  {
    name: 'age of a key, stored before the first call',
    of: 'start',
    beside: 'startAgain',
    body: 'return original({ invoiceId }, arguments[1]);',
    tests: payTests,
    caughtBy: 'the age of a key, as its message tells it, is stored before the first call',
  },
  {
    name: 'age of a key, under everything that can happen',
    of: 'isTooOld',
    body: 'return false;',
    tests: modelTests,
    caughtBy: 'whatever dies, comes twice, late or never',
  },
  {
    name: 'none found twice, an hour apart, before a key that may have charged starts over',
    of: 'decideOldKey',
    body: 'return original(payment, found, { noneFoundMs: 0 }, now);',
    tests: 'test/paying/searchLag.test.ts',
    caughtBy: 'a key that expires right after a charge whose answer was lost',
  },
  {
    name: 'what a key stands for, kept when it starts over',
    of: 'keyStartedOver',
    body: 'const { keyCreatedAt: _, paramsHash: __, method: ___, ...state } = known(payment);\n  return state;',
    tests: 'test/paying/decideSettlement.test.ts',
    caughtBy: 'a key that starts over stands for the same charge, by the same method',
  },
  {
    name: 'age of a key, kept when it is claimed again',
    of: 'commandFor',
    body: `
      const command = original(...arguments);
      return { ...command, payment: { ...command.payment, keyCreatedAt: at } };`,
    tests: payTests,
    caughtBy: 'a key older than 23 h is never sent',
  },
  {
    name: 'a settlement known by its own name after a lost answer',
    of: 'names',
    body: "return what !== 'settlement' && original(stored, what, id);",
    tests: payTests,
    caughtBy: 'at the settlement (reset-after)',
  },
  {
    name: 'a claim known by its batch id after a lost answer',
    of: 'names',
    body: "return what !== 'batchId' && original(stored, what, id);",
    tests: claimTests,
    caughtBy: 'a batch whose answer was lost is resolved by rereading',
  },
  {
    name: 'TTL only after the dispatch',
    of: 'newOutboxMessage',
    body: 'return { ...original(content, now), ttl: 3600 };',
    tests: 'packages/jobs/test/outbox/sweepOutbox.test.ts',
    caughtBy: 'a sent message is marked and expires only from then on',
  },
  {
    name: 'pending condition of the mark',
    of: 'dispatchPatch',
    body: 'const patch = original(...arguments); return patch && { ...patch, where: [] };',
    tests: 'packages/jobs/test/outbox/sweepOutbox.test.ts',
    caughtBy: 'a late result does not undo a decision made in the meantime',
  },
  {
    name: 'effect check of a work item',
    of: 'createProcessWorkItem',
    body: 'return original({ ...parts, effects: { ...parts.effects, has: async () => false } });',
    tests: 'packages/jobs/test/workItems/processWorkItem.test.ts',
    caughtBy: 'a message that comes twice has its effect once',
  },
  {
    name: 'lease of a work item',
    of: 'workItemLockKey',
    body: 'return `${original(resourceId, stage)}${Math.random()}`;',
    tests: 'packages/jobs/test/workItems/processWorkItem.test.ts',
    caughtBy: 'the same message in two processes at the same time has its effect once',
  },
  {
    name: 'effect check of a message of several work items',
    of: 'createProcessSeveral',
    body: 'return original({ ...arguments[0], effects: { ...effects, hasMessage: async () => false } });',
    tests: severalTests,
    caughtBy: 'a message that comes twice takes effect once',
  },
  {
    name: 'a failing work item, sent on so that it is not lost with the message',
    of: 'createProcessSeveral.sendOn',
    body: "return original(tried.filter(({ kind }) => kind !== 'alone'));",
    tests: 'packages/jobs/test/workItems/nothingLost.property.test.ts',
    caughtBy: 'whatever fails, comes twice or is away',
  },
  {
    name: 'work items sent on before the message counts as done',
    of: 'createProcessSeveral.sendOn',
    body: 'original(tried).catch(() => {});',
    tests: severalTests,
    caughtBy: 'are done again if one of them could not be sent on',
  },
  {
    name: 'ETag condition of a retry',
    of: 'ifUnchanged',
    body: 'const { version: _, ...patch } = original(invoice, change); return patch;',
    tests: retryTests,
    caughtBy: 'two simultaneous retries of a declined invoice: one succeeds',
  },
  {
    name: 'key of a parked invoice, kept when a person retries it',
    of: 'decideRetry.mayBeCharged',
    body: `
      const asks = wish.notCharged === true || wish.paymentMethod !== undefined;
      return asks ? original() : { kind: 'retry', payment: newCharge() };`,
    tests: retryTests,
    caughtBy: 'a parked invoice charged without our knowledge',
  },
  {
    name: 'a correction holds only for what was read',
    of: 'ifStillSo',
    body: `
      const always = (_: Invoice, now: number) => ({ kind: 'change' as const, ...changed(now) });
      const updated = await record<{ kind: 'other' }>(parts, id, always);
      return updated.kind === 'updated' ? { from, invoice: updated.invoice } : 'again';`,
    tests: voidTests,
    caughtBy: 'the claim is first: the void meets it',
  },
  {
    name: 'a check before a new key for what may have been charged',
    of: 'decideRetry.mayBeCharged',
    body: "return wish.notCharged === true ? { kind: 'retry', payment: newCharge() } : original();",
    tests: notChargedTests,
    caughtBy: 'a payment in progress that was parked',
  },
  {
    name: 'a wait until no call can be in flight',
    of: 'onceCallsAreOver',
    body: 'return original(view, { askedAt: Number.POSITIVE_INFINITY, callsOverAt });',
    tests: notChargedTests,
    caughtBy: 'a call that was still in flight',
  },
  {
    name: 'a retry known by its own name after a lost answer',
    of: 'hasWrite',
    body: 'return false;',
    tests: retryTests,
    caughtBy: 'a write whose answer is lost counts once',
  },
  {
    name: 'id of a payment that the search finds',
    of: 'stripeLookups.named',
    body: `
      async function* named() {
        for await (const intent of intents) yield { ...intent, metadata: { ...intent.metadata, invoiceId } };
      }
      return original(arguments[0], named());`,
    tests: 'test/stripe/stripeProvider.test.ts',
    caughtBy: 'never the payment of an id that differs only in case',
  },
  {
    name: 'calls that had begun before a message came again',
    of: 'start',
    beside: 'startAgain',
    body: 'return { ...original(...arguments), where: claimedBy(batchId) };',
    tests: payTests,
    caughtBy: 'a message redelivered once its key is too old',
  },
  {
    name: 'an old key that may have been used',
    of: 'chargeUnderKey',
    body: `
      const outcome = await original(calls, command, now);
      return outcome.kind === 'noneFound' ? { kind: 'unused' } : outcome;`,
    tests: payTests,
    caughtBy: 'if none is found and it may have been charged, it is looked up again in an hour',
  },
  {
    name: 'what a batch id may consist of',
    of: 'parseBatch',
    body: `
      const { batchId } = message as PaymentBatch;
      return { ...original({ ...(message as PaymentBatch), batchId: 'any' }), batchId };`,
    tests: 'test/paying/paymentBatch.test.ts',
    caughtBy: 'a batch id is 1 to 64 letters, digits, - or _',
  },
  {
    name: 'the lock of the message, before each call',
    of: 'createExecutePayments.mayCall',
    body: 'return signal?.aborted !== true;',
    tests: 'test/paying/executePayments.test.ts',
    caughtBy: 'when it is lost the work stops',
  },
  {
    name: 'time of an unconfirmed message lock',
    of: 'keepMessageLock.held',
    body: 'return heldUntil > Number.NEGATIVE_INFINITY;',
    tests: 'test/paying/messageLock.test.ts',
    caughtBy: 'a process that was frozen does not trust its lock',
  },
  {
    name: 'a search that finds nothing while it may lag',
    of: 'reconciliationStage.mayLag',
    body: 'return false;',
    tests: 'test/after/reconciliation.test.ts',
    caughtBy: 'none found within the hour proves nothing',
  },
  {
    name: 'a message of a newer release, for a newer process',
    of: 'parseBatch',
    body: 'const { version: _, ...rest } = message as PaymentBatch; return original(rest);',
    tests: 'test/paying/executePayments.test.ts',
    caughtBy: 'a message from a newer release is sent again unchanged',
  },
  {
    name: 'fields of a newer release, kept with the payment',
    of: 'tolerantObject',
    body: 'return z.object(shape);',
    tests: 'test/paying/paymentBatch.test.ts',
    caughtBy: 'unknown fields do no harm',
  },
  {
    name: 'a payment that is alive: neither declined nor unknown',
    of: 'progressOf',
    body: `
      const progress = original(intent);
      if (progress.kind !== 'alive' || progress.waitsForCustomer === true) return progress;
      return { ...failureOf(intent), kind: 'failed' };`,
    tests: 'test/after/checkPayments.test.ts',
    caughtBy: 'a card that is processing is charged once',
  },
  {
    name: 'a look-up that sees payments in progress',
    of: 'movesMoney',
    body: "return progress.kind === 'succeeded';",
    tests: 'test/after/checkPayments.test.ts',
    caughtBy: 'one in progress that nobody recorded is found when its key has grown too old',
  },
  {
    name: 'a payment that names another deployment',
    of: 'ownershipOf',
    body: `
      const { madeBy, ...unsaid } = payment;
      return original(madeBy === 'others' ? unsaid : payment, invoice);`,
    tests: 'test/paying/foundPayment.test.ts',
    caughtBy: 'of another deployment',
  },
  {
    name: 'a payment of another customer',
    of: 'ownershipOf',
    body: 'return original({ ...payment, customerId: invoice.customerId }, invoice);',
    tests: 'test/paying/foundPayment.test.ts',
    caughtBy: 'of another customer',
  },
  {
    name: 'the payment that an invoice waits for, and no other',
    of: 'decideProgress.ofAnother',
    body: "return status === 'processing' && payment.inProgress !== undefined ? ofOneInProgress() : original();",
    tests: 'test/after/decideProgress.test.ts',
    caughtBy: 'is not moved by another payment',
  },
  {
    name: 'a next key only after a payment in progress has failed',
    of: 'decideProgress.stillAlive',
    body: "return ended({ severity: 'soft', code: 'slow', message: '' });",
    tests: 'test/after/decideProgress.test.ts',
    caughtBy: 'a key that may have moved money never makes way for another',
  },
  {
    name: 'a repeated answer is out of date once money has gone back',
    of: 'asItIsNow',
    body: "return { kind: 'succeeded', paymentId };",
    tests: 'test/stripe/stripeProvider.test.ts',
    caughtBy: 'a repeat after the money has gone back says so, and not that it is paid',
  },
  {
    name: 'a payment method is stored only under the attempt that it is for',
    of: 'resolveMethod',
    body: storedSeenAs(
      '({ ...stored, claim: stored.claim && { ...stored.claim, attempt: command.attempt } })',
    ),
    tests: 'test/paying/resolveMethod.test.ts',
    caughtBy: 'so a delivery stores none once another has begun to call again',
  },
  {
    name: 'the stored payment method of a call that is made again',
    of: 'resolveMethod',
    body: `
      const invoices = { ...parts.invoices, find: async () => undefined };
      return original({ ...parts, invoices }, batchId, command);`,
    tests: 'test/paying/resolveMethod.test.ts',
    caughtBy: 'also in a delivery that calls again and cannot ask for it',
  },
  {
    name: 'the default method that is stored with its key',
    of: 'resolveMethod',
    body: storedSeenAs('({ ...stored, payment: { ...stored.payment, method: undefined } })'),
    tests: 'test/paying/resolveMethod.test.ts',
    caughtBy: 'one that a delivery has stored and not called with is kept',
  },
  {
    name: 'slots that nobody else has',
    of: 'reserve',
    body: `
      const change: PaceStore['change'] = (name, { add: { next: _, ...add } = {}, ...rest }) =>
        store.change(name, { ...rest, add } as ScheduleChange);
      return original({ ...arguments[0], store: { ...store, change } }, known, report, count);`,
    tests: 'packages/jobs/test/rate/reserve.test.ts',
    caughtBy:
      'slots never overlap, and there are no more than the pace allows, in whatever order instances reserve',
  },
  {
    name: 'a 429 that costs only time',
    of: 'isRateLimited',
    body: 'return false;',
    tests: 'test/paying/pacedProvider.test.ts',
    caughtBy: 'a call that is refused because there are too many is made again at its next turn',
  },
  {
    name: 'a 429 that is no failure of the provider',
    of: 'isFailure',
    body: "return kind === 'rateLimited' || original(...arguments);",
    tests: 'test/paying/circuitBreaker.test.ts',
    caughtBy: 'an answer, even a remembered one, does not open the circuit: rateLimited',
  },
  {
    name: 'an attempt that was not made and does not count',
    of: 'decideSettlement',
    body: `
      const settlement = original(command, outcome, policy, now);
      if (outcome.kind !== 'notCalled' || settlement.kind !== 'retry') return settlement;
      return { ...settlement, attempts: command.attempt };`,
    tests: payTests,
    caughtBy: 'no call begins when the claims are about to go stale',
  },
  {
    name: 'room for claims, shared by the groups',
    of: 'createClaimRoom.look',
    body: 'await original(); known = { ...known, left: known.left * groups };',
    tests: 'test/pacing/claimRoom.test.ts',
    caughtBy: 'each group takes its part of what is left, and all of them together never too much',
  },
  {
    name: 'what is no word of the provider on the key, written by the latest delivery only',
    of: 'planSettlement',
    body: 'return original(items.map(({ start: _, ...item }) => item), arguments[1]);',
    tests: 'test/paying/resolveMethod.test.ts',
    caughtBy: 'a delivery that is told "unknown" leaves the invoice to a later one that is calling',
  },
  {
    name: 'a start taken back by the delivery that made it',
    of: 'startedAs',
    body: 'return [];',
    tests: storeTests,
    caughtBy: 'nothing that another delivery has started since: it may have charged',
  },
  {
    name: 'calls of an earlier delivery, when calling again is taken back',
    of: 'giveBack',
    body: 'return original(invoiceId, undefined, arguments[2]);',
    tests: storeTests,
    caughtBy: 'a start that was one attempt more leaves what it found',
  },
  {
    name: 'one delivery at a time calls again',
    of: 'startAgain',
    body: 'return { ...original(...arguments), where: claimedBy(batchId) };',
    tests: storeTests,
    caughtBy: 'of two that call again one does',
  },
  {
    name: 'what was called before is paid alone',
    of: 'firstParts',
    body: 'return [{ commands, earlier: new Map(), alone: false }];',
    tests: 'test/paying/paidAlone.test.ts',
    caughtBy: 'fresh ones together, then those that were called before, one by one, least tried first',
  },
  {
    name: 'calls of an earlier delivery, when a batch goes back',
    of: 'start',
    beside: 'startAgain',
    body: 'return { ...original(...arguments), where: claimedBy(batchId) };',
    tests: payTests,
    caughtBy:
      'a batch that is not let in in time goes back, but not what an earlier delivery may have charged',
  },
  {
    name: 'a pause, asked before each turn',
    of: 'createTurns',
    body: 'return original({ clock, shared, mayGo: () => true }, arguments[1]);',
    tests: 'packages/jobs/test/rate/pause.test.ts',
    caughtBy: 'while it is not known whether calls are paused, they wait',
  },
  {
    name: 'a look at the pause, which counts for eight seconds',
    of: 'countsMs',
    value: 'Number.POSITIVE_INFINITY',
    tests: 'packages/jobs/test/rate/pause.test.ts',
    caughtBy: 'makes no call ten seconds after a pause, whatever the store and the process do',
  },
  {
    name: 'a pause, looked at before each try of a claim',
    of: 'processInvoicesJob',
    body: "return original({ ...parts, pause: { ...parts.pause, gate: () => 'open' } }, policy);",
    tests: 'test/claiming/processInvoices.test.ts',
    caughtBy: 'no claim is sent that took until the pause is unknown',
  },
  {
    name: 'the run in the timeline of an invoice that it has retried',
    of: 'decideBulkRetry',
    body: `
      const timeline = invoice.timeline.filter((entry) => entry.runId !== runId);
      return original({ ...invoice, timeline }, filter, arguments[2]);`,
    tests: 'test/ops/bulk/bulkJob.test.ts',
    caughtBy: 'an invoice that is parked again is not retried again by the same run',
  },
  {
    name: 'text in quotes is no row, however long it is',
    of: 'csvRecords',
    body: `
      const long = new RegExp('"(?:[^"]|""){' + rowBytes + ',}"', 'g');
      const text = body.toString('latin1').replace(long, (value) => value.replaceAll('"', 'x'));
      yield* original(Buffer.from(text, 'latin1'), rowBytes);`,
    tests: 'test/importing/csvRecords.test.ts',
    caughtBy: 'a record that is too long is passed over',
  },
  {
    name: 'a principal that no platform has set',
    of: 'callerOf',
    body: "return original({ headers }, signIn === 'none' ? 'platform' : signIn);",
    tests: 'test/ops/admission.test.ts',
    caughtBy: 'without it nobody can claim to be somebody',
  },
  {
    name: 'the role of a signed-in caller',
    of: 'whyNotAdmitted',
    body: 'return original(arguments[0], { headers }, { ...caller, roles: [role] });',
    tests: 'test/ops/admission.test.ts',
    caughtBy: 'a reader changes nothing, and somebody without a role reads nothing',
  },
  {
    name: 'an invoice is in the archive before it leaves the database',
    of: 'archiveInvoices',
    body: `
      const all = candidates.map(({ document }) => [copyName(document), new Date(0).toISOString()] as const);
      return original(parts, shard, candidates, { ...arguments[3], copies: new Map(all) });`,
    tests: 'test/archive/archive.property.test.ts',
    caughtBy: 'an invoice is in the database or in the archive',
  },
  {
    name: 'a file of the archive is old enough to survive a failover before its invoices leave the database',
    of: 'replicatedAfterMs',
    value: '0',
    tests: 'test/archive/archiveSettled.test.ts',
    caughtBy: 'a storage account that fails over without its last quarter of an hour loses no invoice',
  },
  {
    name: 'ETag condition of a tombstone',
    of: 'inputOf',
    body: "const { ifMatch: _, ...input } = { ifMatch: '', ...original(operation) }; return input as OperationInput;",
    tests: 'packages/jobs/test/documents/cosmos.test.ts',
    caughtBy: 'a replacement of a version applies once',
  },
  {
    name: 'a tombstone that stays, so that no import stores the invoice again',
    of: 'tombstoneOf',
    body: "return { ...original(...arguments), ttl: 1 } as Omit<Tombstone, '_etag'>;",
    tests: 'test/archive/archiveSettled.test.ts',
    caughtBy: 'and not a hundred years later',
  },
  {
    name: 'counts of the archive, in the transaction that moves invoices',
    of: 'moveTogether.operationsOf',
    body: "return original(items).filter(({ kind }) => kind === 'replace');",
    tests: 'test/archive/archive.property.test.ts',
    caughtBy: 'an invoice is in the database or in the archive',
  },
  {
    name: 'payments that an invoice names and nobody has recorded, asked about before another charge',
    of: 'unrecordedPayments',
    body: 'return [];',
    tests: 'test/after/namedPayment.test.ts',
    caughtBy: 'is retried, as its reason says: the payment is recorded, and nothing is charged',
  },
  {
    name: 'whose payment it is',
    of: 'ownershipOf',
    body: "return 'ours';",
    tests: 'test/paying/foundPayment.test.ts',
    caughtBy: 'whatever there is, only a payment of this customer, amount and deployment is ever recorded',
  },
  {
    name: 'a part that has gone back leaves a charge one that was made',
    of: 'asLookUp',
    body: `
      if (progress.kind === 'alive') return { kind: 'processing', paymentId, state: progress.state };
      if (reversals.refunds.length + reversals.disputes.length === 0) return { kind: 'found', paymentId };
      return { kind: 'reversed', paymentId, message: 'some of it has gone back' };`,
    tests: 'test/after/voidInvoice.test.ts',
    caughtBy: 'refunded in full: voided; in part: recorded as paid, with its refund',
  },
  {
    name: 'an event for a claimed invoice is retried',
    of: 'decideHint',
    body: `
      if (hint === 'reversed') return 'retrieve';
      return status === 'claimed' || payment.id === paymentId ? 'nothing' : 'retrieve';`,
    tests: 'test/after/paymentsOfOthers.test.ts',
    caughtBy: 'an event that comes while the invoice is claimed is retried, not dropped',
  },
  {
    name: 'a second payment is recorded',
    of: 'ofAnother',
    body: "return { kind: 'nothing' };",
    tests: 'test/after/decideProgress.test.ts',
    caughtBy: 'is not moved by another payment',
  },
  {
    name: 'another payment that may hold money, before a debit that failed makes way for the next key',
    of: 'secondThatHolds',
    body: 'return undefined;',
    tests: 'test/after/decideProgress.test.ts',
    caughtBy: 'fails, and the timeline names another payment as "parked"',
  },
  {
    name: 'a payment of ours that has failed or waits for nobody, canceled',
    of: 'isOursToCancel',
    body: 'return false;',
    tests: 'test/after/checkPayments.test.ts',
    caughtBy: 'one that waits for a customer who is not there is canceled',
  },
  {
    name: 'a customer whom the provider does not know leaves no question open for ever',
    of: 'viewOfFound',
    body: `
      switch (found.kind) {
        case 'found':
        case 'processing':
        case 'differs':
        case 'reversed':
          return found;
        case 'notFound':
          return found.unlisted === undefined ? found : { kind: 'silent', message: 'no such customer' };
        default:
          return { kind: 'silent', message: whySilent(found) };
      }`,
    tests: 'test/after/lookUpsEnd.test.ts',
    caughtBy: 'a customer that the provider does not know: a person may void the invoice',
  },
  {
    name: 'a refund whose order may be lost is ordered again',
    of: 'mayBeLost',
    body: 'return false;',
    tests: 'test/after/lostOrders.test.ts',
    caughtBy: 'is ordered again after five minutes, and made once',
  },
  {
    name: 'a refund that may have been made by hand waits for a word',
    of: 'withLookAlikes',
    body: 'return reversals;',
    tests: 'test/after/lostOrders.test.ts',
    caughtBy: 'is not ordered again: a person is asked, and the money is counted once',
  },
  {
    name: 'events that a webhook has lost, read from the list',
    of: 'sendNew',
    body: 'return isDone === undefined ? listed.length : 0;',
    tests: 'test/after/readEventList.test.ts',
    caughtBy: 'the list brings once an hour what did not arrive; what both bring has one effect',
  },
  {
    name: 'what people have changed since the time of a copy, listed before it pays',
    of: 'changesLost',
    body: 'return [];',
    tests: 'test/scripts/afterRestore.test.ts',
    caughtBy: 'a payment, a refund and a void that the copy lacks: exit code 1 until nothing is left, then 0',
  },
  {
    name: 'a refusal that comes late frees no refund that was made',
    of: 'refusedRefund',
    beside: 'refundStage',
    body: `
      const { reversals, payment } = invoice;
      const refund = refundOf(invoice, refundId);
      if (reversals === undefined) return { kind: 'ended' };
      const after = refund === undefined ? reversals : withRefund(reversals, { ...refund, status: 'failed', failure });
      return {
        kind: 'change',
        change: withReversals(after, now),
        entry: { what: 'refund refused', refundId, reason: failure },
        ends: newReversals(reversals, after, payment.id ?? ''),
      };`,
    tests: 'test/after/refundLayers.test.ts',
    caughtBy: 'that comes when the refund is succeeded already changes nothing, and frees nothing',
  },
  {
    name: 'the key of a refund, stored before its call',
    of: 'storedKey',
    body: "return { kind: 'send', number: 1 };",
    tests: 'test/after/refundLayers.test.ts',
    caughtBy: 'is stored before the call, and the same goes out again',
  },
  {
    name: 'the age of the key of a refund',
    of: 'decideKey',
    body: "return key === undefined ? { kind: 'store', number: 1 } : { kind: 'send', number: key.number };",
    tests: 'test/after/refundLayers.test.ts',
    caughtBy: 'that is too old waits until no call under it can be in flight, and makes way for the next',
  },
  {
    name: 'the id of a refund, the same for the same request',
    of: 'refundIdOf',
    body: "return `rf_${crypto.randomUUID()}${invoiceId}${idempotencyKey}`.replaceAll(/[^a-z0-9_]/g, '').padEnd(46, 'a').slice(0, 46);",
    tests: 'test/after/refundKeys.test.ts',
    caughtBy: 'the same key of the same invoice is the same refund, and any other is another',
  },
  {
    name: 'the Idempotency-Key of a refund, for one request only',
    of: 'isSameRequest',
    beside: 'decideRefund',
    body: 'return true;',
    tests: 'test/after/decideRefund.test.ts',
    caughtBy: 'with another amount',
  },
  {
    name: 'an invoice that is stored is not decided on as its copy in the archive',
    of: 'withArchive.update',
    body: `
      const archived = await archive.find(id);
      if (archived === undefined) return invoices.update(id, request);
      const decided = request.decide(archived, '');
      if (decided.kind === 'refuse') return { kind: 'refused', why: decided.why };
      await archive.restore(id, { by });
      return invoices.update(id, request);`,
    tests: 'test/archive/withArchive.test.ts',
    caughtBy: 'an update of a stored invoice asks the archive nothing, and happens once',
  },
];
