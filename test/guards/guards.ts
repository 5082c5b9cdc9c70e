// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are source code

/** One thing that keeps a payment from being made twice, and how it is switched off. */
export interface Guard {
  name: string;
  file: string;
  /** Text that must be in the file exactly once, and what takes its place. */
  from: string;
  to: string;
  /** The test file, and the beginning of the name of a test in it, that must fail without the guard. */
  tests: string;
  caughtBy: string;
}

const claimTests = 'test/claiming/claimBatch.test.ts';
const modelTests = 'test/model/payments.test.ts';
const payTests = 'test/paying/payBatch.test.ts';
const retryTests = 'test/invoice/retryInvoice.test.ts';

export const guards: readonly Guard[] = [
  {
    name: 'ETag condition at the claim',
    file: 'src/claiming/planClaims.ts',
    from: 'id: invoice.id, ifMatch: invoice._etag, resourceBody: { operations } }',
    to: 'id: invoice.id, resourceBody: { operations } }',
    tests: claimTests,
    caughtBy: 'of two runs that read the same page each invoice is claimed by one',
  },
  {
    name: 'ETag condition at the reclaim of a stale claim',
    file: 'src/claiming/planClaims.ts',
    from: 'operations.push(patchIfUnchanged(invoice, patchesFor({ ...invoice, payment }, decision)));',
    to: `const { ifMatch, ...unconditional } = patchIfUnchanged(invoice, patchesFor({ ...invoice, payment }, decision)) as never as Record<string, unknown>;
    operations.push((decision.kind === 'reclaim' ? unconditional : { ...unconditional, ifMatch }) as never);`,
    tests: claimTests,
    caughtBy: 'of two runs that see the same stale claims each is taken over by one',
  },
  {
    name: 'claim token at the start',
    file: 'src/paying/startBatch.ts',
    from: "return invoice.claim?.batchId === batchId ? 'pay' : 'staleClaim';",
    to: "return 'pay';",
    tests: payTests,
    caughtBy: 'a batch whose claims another has taken pays nothing and says so',
  },
  {
    name: 'claim token condition of every write of a batch',
    file: 'src/paying/startBatch.ts',
    from: "return `from c where c.status = 'claimed' and c.claim.batchId = '${batchId}'`;",
    to: 'return `from c where c.id != "${batchId}"`;',
    tests: payTests,
    caughtBy: 'a claim that is taken during the call',
  },
  {
    name: 'paid check at the start',
    file: 'src/paying/startBatch.ts',
    from: "return invoice.status === 'pending' ? 'staleClaim' : 'settled';",
    to: "return invoice.status === 'pending' ? 'staleClaim' : 'pay';",
    tests: payTests,
    caughtBy: 'a message that comes again after it was settled calls nobody',
  },
  {
    name: 'fence check in the claiming transaction',
    file: 'src/locking/fence.ts',
    from: 'condition: `from c where c.fence <= ${fence}`,',
    to: 'condition: `from c where c.fence <= ${fence} or true`,',
    tests: claimTests,
    caughtBy: 'a smaller fence token than the store has seen is refused',
  },
  {
    name: 'lease asked before the claim',
    file: 'src/claiming/claimBatch.ts',
    from: 'claimant.assertHeld();',
    to: '',
    tests: claimTests,
    caughtBy: 'a lease that is gone stops it before it writes',
  },
  {
    name: 'idempotency key, the same for the same charge',
    file: 'src/paying/paymentBatch.ts',
    from: '-${n}`;',
    to: '-${n}-${Math.random()}`;',
    tests: payTests,
    caughtBy: 'unknown after charging: the same key again',
  },
  {
    name: 'key number, kept unless there was a definite decline',
    file: 'src/paying/paymentBatch.ts',
    from: '      ...payment,\n',
    to: '      ...payment,\n      keyNumber: payment.keyNumber + attempt - 1,\n',
    tests: payTests,
    caughtBy: 'unknown after charging: the same key again',
  },
  {
    name: 'key number, under everything that can happen',
    file: 'src/paying/paymentBatch.ts',
    from: '      ...payment,\n',
    to: '      ...payment,\n      keyNumber: payment.keyNumber + attempt - 1,\n',
    tests: modelTests,
    caughtBy: 'whatever dies, comes twice, late or never',
  },
  {
    name: 'hash of the parameters of a key',
    file: 'src/paying/payInvoice.ts',
    from: 'if (paramsHash(command) !== payment.paramsHash) {',
    to: 'if (paramsHash(command) === "") {',
    tests: payTests,
    caughtBy: 'parameters that are not those of the key',
  },
  {
    name: 'age of a key (23 h)',
    file: 'src/paying/payInvoice.ts',
    from: 'if (now - Date.parse(payment.keyCreatedAt) > maxKeyAgeMs) {',
    to: 'if (now < 0) {',
    tests: payTests,
    caughtBy: 'a key older than 23 h is never sent',
  },
  {
    name: 'age of a key, under everything that can happen',
    file: 'src/paying/payInvoice.ts',
    from: 'if (now - Date.parse(payment.keyCreatedAt) > maxKeyAgeMs) {',
    to: 'if (now < 0) {',
    tests: modelTests,
    caughtBy: 'whatever dies, comes twice, late or never',
  },
  {
    name: 'age of a key, kept when it is claimed again',
    file: 'src/paying/paymentBatch.ts',
    from: 'keyCreatedAt: payment.keyCreatedAt ?? at,',
    to: 'keyCreatedAt: at,',
    tests: payTests,
    caughtBy: 'a key older than 23 h is never sent',
  },
  {
    name: 'a settlement known by its own name after a lost answer',
    file: 'src/paying/settleBatch.ts',
    from: 'entry.settlement === settlementId',
    to: "entry.settlement === 'nobody’s'",
    tests: payTests,
    caughtBy: 'at the settlement (reset-after)',
  },
  {
    name: 'a claim known by its batch id after a lost answer',
    file: 'src/claiming/claimBatch.ts',
    from: 'timeline.some((entry) => entry.batchId === batchId)',
    to: "timeline.some((entry) => entry.batchId === '')",
    tests: claimTests,
    caughtBy: 'a batch whose answer was lost is settled by rereading',
  },
  {
    name: 'TTL only after the dispatch',
    file: 'src/outbox/outboxMessage.ts',
    from: '    attempts: 0,\n',
    to: '    attempts: 0,\n    ttl: 3600,\n',
    tests: 'test/outbox/sweepOutbox.test.ts',
    caughtBy: 'a sent message is marked and expires only from then on',
  },
  {
    name: 'pending condition of the mark',
    file: 'src/outbox/dispatcher.ts',
    from: "condition: `from c where c.status = 'pending' and c.attempts = ${message.attempts}`,",
    to: "condition: `from c where c.type = 'outboxMessage' or c.attempts = ${message.attempts}`,",
    tests: 'test/outbox/sweepOutbox.test.ts',
    caughtBy: 'a result that comes late changes nothing of what was decided meanwhile',
  },
  {
    name: 'effect check of a work item',
    file: 'src/workItems/processWorkItem.ts',
    from: "return 'doneBefore';",
    to: 'void 0;',
    tests: 'test/workItems/processWorkItem.test.ts',
    caughtBy: 'a message that comes twice has its effect once',
  },
  {
    name: 'lease of a work item',
    file: 'src/workItems/processWorkItem.ts',
    from: 'workItemKey(resourceId, name),',
    to: 'workItemKey(`${resourceId}${Math.random()}`, name),',
    tests: 'test/workItems/processWorkItem.test.ts',
    caughtBy: 'the same message in two processes at the same time has its effect once',
  },
  {
    name: 'ETag condition of a retry',
    file: 'src/invoice/retryInvoice.ts',
    from: 'id, ifMatch: invoice._etag, resourceBody',
    to: 'id, resourceBody',
    tests: retryTests,
    caughtBy: 'of two at the same time one retries a declined invoice',
  },
  {
    name: 'key of a parked invoice, kept when a person retries it',
    file: 'src/invoice/decideRetry.ts',
    from: 'payment: notCharged ? nextKey(payment) : payment',
    to: 'payment: nextKey(payment)',
    tests: retryTests,
    caughtBy: 'a parked invoice that was charged unknown to us',
  },
  {
    name: 'a retry known by its own name after a lost answer',
    file: 'src/invoice/retryInvoice.ts',
    from: 'entry.retry === retryId',
    to: "entry.retry === 'nobody’s'",
    tests: retryTests,
    caughtBy: 'a write whose answer is lost counts once',
  },
  {
    name: 'id of a payment that the search finds',
    file: 'src/paying/stripe/stripeProvider.ts',
    from: 'if (metadata.invoiceId !== invoiceId) continue;',
    to: '',
    tests: 'test/paying/stripe/stripeProvider.test.ts',
    caughtBy: 'never the payment of an id that differs in case only',
  },
  {
    name: 'calls that had begun before a message came again',
    file: 'src/paying/startBatch.ts',
    from: ' and c.claim.phase =',
    to: ' and c.claim.batchId !=',
    tests: payTests,
    caughtBy: 'a message that comes again when its key has grown too old',
  },
  {
    name: 'an old key that may have been used',
    file: 'src/paying/payInvoice.ts',
    from: 'return payment.unknownSince === undefined',
    to: 'return payment !== undefined',
    tests: payTests,
    caughtBy: 'where none is found, and it may have been charged, a person decides',
  },
  {
    name: 'what a batch id may consist of',
    file: 'src/paying/paymentBatch.ts',
    from: 'regex(/^[\\w-]{1,64}$/,',
    to: 'regex(/^./,',
    tests: 'test/paying/parseBatch.test.ts',
    caughtBy: 'whatever batch id is let in stays within its quotes',
  },
  {
    name: 'the lock of the message, before each call',
    file: 'src/paying/executePayments.ts',
    from: ' && lock?.held() !== false;',
    to: ';',
    tests: 'test/paying/executePayments.test.ts',
    caughtBy: 'when it is lost the work stops',
  },
  {
    name: 'time of an unconfirmed message lock',
    file: 'src/paying/messageLock.ts',
    from: 'held: () => clock.monotonic() < heldUntil,',
    to: 'held: () => heldUntil > Number.NEGATIVE_INFINITY,',
    tests: 'test/paying/messageLock.test.ts',
    caughtBy: 'a process that stood still does not believe in its lock',
  },
  {
    name: 'a search that finds nothing while it may lag',
    file: 'src/followUps/reconcileStage.ts',
    from: "found.kind === 'notFound' && now - parkedAt(invoice) < searchUncertainMs",
    to: "found.kind === 'notFound' && now < searchUncertainMs",
    tests: 'test/followUps/reconcileStage.test.ts',
    caughtBy: 'none found within the hour says nothing',
  },
];
