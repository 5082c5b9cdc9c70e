import type { Edit } from '../../guards/edits.ts';

/**
 * Faults that are put into the app to see whether the simulation finds them: fixes that are reverted, faults as they once were, and
 * others. No other test finds the last five.
 */
export interface Sabotage {
  readonly name: string;
  readonly edits: readonly Edit[];
}

export const sabotages: readonly Sabotage[] = [
  {
    name: 'reverted: payments in progress are asked for under their key, and look-ups see only what succeeded (M1)',
    edits: [
      {
        file: 'src/paying/settlement.ts',
        from: "    case 'processing':\n      return outcome;\n    case 'declined':",
        to: "    case 'processing':\n      return decideSettlement(command, { kind: 'unknown', message: outcome.state }, policy, now);\n    case 'declined':",
      },
      {
        file: 'src/after/checkProvider.ts',
        from: '    : found;',
        to: "    : found.kind === 'processing' ? { kind: 'notFound' } : found;",
      },
      {
        file: 'src/after/reconciliation.ts',
        from: '      const seen = await calls.find(soughtOf({ ...invoice, invoiceId: id }));',
        to: "      const any = await calls.find(soughtOf({ ...invoice, invoiceId: id }));\n      const seen: typeof any = any.kind === 'processing' ? { kind: 'notFound' } : any;",
      },
    ],
  },
  {
    name: 'reverted: no more is claimed than can be paid soon (P2)',
    edits: [
      {
        file: 'src/claiming/processInvoices.ts',
        from: 'room: dryRun ? unlimitedRoom(batchSize) : room },',
        to: 'room: room === undefined ? room : unlimitedRoom(batchSize) },',
      },
    ],
  },
  {
    name: 'reverted: a put-off message of payments has an id that follows from its own',
    edits: [
      {
        file: 'packages/jobs/src/serviceBusHeldMessages.ts',
        from: "return createHash('sha256').update(messageId).digest('hex').slice(0, 32);",
        to: 'return randomUUID();',
      },
    ],
  },
  {
    name: 'reverted: a put-off work item is sent again once',
    edits: [
      {
        file: 'packages/jobs/src/workItems/processWorkItem.ts',
        from: 'sendOnce(parts.sendAgain, clock)',
        to: 'parts.sendAgain',
      },
    ],
  },
  {
    name: 'reverted: a process that was frozen does not trust what it has sent',
    edits: [
      {
        file: 'packages/jobs/src/workItems/sendOnce.ts',
        from: ' && Math.abs(differMs) < clocksDifferMs',
        to: '',
      },
    ],
  },
  {
    name: 'reverted: a queue may show a message a second early',
    edits: [
      { file: 'packages/jobs/src/workItems/sendOnce.ts', from: 'delayMs - earlyMs', to: 'delayMs' },
      {
        file: 'packages/jobs/src/outbox/storageQueueDestination.ts',
        from: 'Math.ceil(delayMs',
        to: 'Math.round(delayMs',
      },
    ],
  },
  {
    name: 'as it was: ten failed dispatches park a message, however long its destination is away (O2)',
    edits: [
      {
        file: 'packages/jobs/src/outbox/messageMoves.ts',
        from: "if (result.kind === 'refused') return",
        to: "if (result.kind === 'refused' || attempts >= 10) return",
      },
    ],
  },
  {
    name: 'as it was: what was started and not called stays started when its process stops (O3)',
    edits: [
      {
        file: 'src/paying/payBatch.ts',
        from: 'held.length === 0 ? undefined : invoices.giveBack({ shard, starting, held }),',
        to: 'held.length >= 0 ? undefined : invoices.giveBack({ shard, starting, held }),',
      },
    ],
  },
  {
    name: 'as it was: a start stays although the store has failed before its call',
    edits: [
      {
        file: 'src/paying/payBatch.ts',
        from: "          away ??= resolved.error;\n          return { kind: 'notCalled', command };",
        to: '          throw resolved.error;',
      },
    ],
  },
  {
    name: 'as it was: a run whose process died says running for ever (O4)',
    edits: [
      {
        of: 'isAbandoned',
        body: 'return false;',
      },
    ],
  },
  {
    name: 'the receipt is ordered after the settlement, in a transaction of its own',
    edits: [
      {
        file: 'src/invoice/store/invoiceWrites.ts',
        from: '          const { patches, messages } = plan(items);',
        to: '          const { patches, messages } = { ...plan(items), messages: [] };',
      },
    ],
  },
  {
    name: 'a payment in progress is not checked again after its first check',
    edits: [
      {
        file: 'src/after/decideProgress.ts',
        from: 'set: isCheck ? { ...set, checkAt: nextCheckAt(checks, now) } : set }',
        to: "set: isCheck ? { ...set, checkAt: '9999-01-01T00:00:00.000Z' } : set }",
      },
    ],
  },
  {
    name: 'the cursor of the events moves on although they were not sent',
    edits: [
      {
        file: 'src/after/readEventList.ts',
        from: '    } catch (cause) {\n      throw new StoreAway(',
        to: '    } catch (cause) {\n      if (cause !== undefined) return 0;\n      throw new StoreAway(',
      },
    ],
  },
  {
    name: 'how old a look at the pause is, by the wall clock',
    edits: [
      {
        file: 'packages/jobs/src/rate/pause.ts',
        from: ': clock.monotonic() - seen.at;',
        to: ': clock.now() - seen.at;',
      },
      {
        file: 'packages/jobs/src/rate/pause.ts',
        from: 'const at = clock.monotonic();\n    try {',
        to: 'const at = clock.now();\n    try {',
      },
    ],
  },
  {
    name: 'how long the lock of a message is held, by the wall clock',
    edits: [
      {
        file: 'src/paying/messageLock.ts',
        from: 'let heldUntil = clock.monotonic()',
        to: 'let heldUntil = clock.now()',
      },
      {
        file: 'src/paying/messageLock.ts',
        from: 'held: () => clock.monotonic() <',
        to: 'held: () => clock.now() <',
      },
      {
        file: 'src/paying/messageLock.ts',
        from: 'const asked = clock.monotonic();',
        to: 'const asked = clock.now();',
      },
    ],
  },
  {
    name: 'events count as sent before the queue has them',
    edits: [
      {
        file: 'src/after/readEventList.ts',
        from: '    try {\n      for (const message of',
        to: '    sent = new Set(listed.map(({ eventId }) => eventId));\n    try {\n      for (const message of',
      },
    ],
  },
  {
    name: 'a process that was frozen for less than 110 s trusts what it has sent',
    edits: [
      {
        file: 'packages/jobs/src/workItems/sendOnce.ts',
        from: 'const clocksDifferMs = 1_000;',
        to: 'const clocksDifferMs = 110_000;',
      },
    ],
  },
  {
    name: 'as it was: an unpaid invoice is not paid by the payment that an event names',
    edits: [{ of: 'ofUnpaid', body: "return { kind: 'nothing' };" }],
  },
  {
    name: 'after a restore no payment is marked that the copy lacks',
    edits: [{ of: 'settleRestored.mark', body: "return 'known';" }],
  },
];
