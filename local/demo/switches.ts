import type { Breakable } from './demoState.ts';

/** The switches of the page in full sentences. `page` is the page of docs/ with the whole answer, and `words` are in it. */
export const switches = {
  kill: {
    title: 'Kill',
    breaks: 'The process of a host ends at once, perhaps between a charge and its settlement.',
    stands: 'Its messages come again, to another host, which sends the same keys.',
    page: 'exactly-once.md',
    words: 'the host dies between charge and settlement',
  },
  freeze: {
    title: 'Freeze for 60 s',
    breaks: 'The process stands still and does not know it (SIGSTOP). Others take its work over.',
    stands:
      'When it wakes, fence and claim refuse what it still writes; what it still charges has the same key.',
    page: 'exactly-once.md',
    words: 'a run stalls, loses its lease and wakes up',
  },
  stop: {
    title: 'Stop as Azure does',
    breaks: 'SIGTERM: the app learns of it after ten seconds, and then has five to finish.',
    stands: 'Calls in flight are settled; what was not called yet goes back as never called.',
    page: 'exactly-once.md',
    words: 'a delivery must stop',
  },
  clock: {
    title: 'Clock back two hours',
    breaks: 'The claims of this host look stale to all others as soon as they are written.',
    stands:
      'Whoever takes them over sends the same key; the age of a key is also measured by the clock of Service Bus.',
    page: 'exactly-once.md',
    words: 'an hour of clock skew',
  },
  deploy: {
    title: 'Deploy another version',
    breaks:
      'A build with the next version number replaces the hosts, one after the other, in one to two minutes. “All of it” has one too, which may end after its minute.',
    stands: 'Interrupted batches come again to a host of either version, which sends the same keys.',
    page: 'deploy.md',
    words: 'Two versions may run side by side',
  },
  all: {
    title: 'All of it',
    breaks:
      'Faults of services and hosts overlap for a minute, in an order that follows from the seed, with one deployment.',
    stands: 'Lease, claim and idempotency key: any two of them are enough.',
    page: 'demo.md',
    words: 'follows from the seed beside it',
  },
  late: {
    title: 'Provider answers late',
    breaks:
      'Three calls a second take six seconds, and the app gives up after four: the charge is made afterwards.',
    stands:
      'The outcome is unknown, so the same key is sent again, and the provider answers with what it did.',
    page: 'exactly-once.md',
    words: 'no answer, or one that never ends',
  },
  lost: {
    title: 'Provider loses answers',
    breaks: 'Two charges a second are made, and the connection is reset before the answer.',
    stands: 'The same key is sent again later: the provider repeats its answer instead of charging.',
    page: 'exactly-once.md',
    words: 'no answer, or one that never ends',
  },
  fails: {
    title: 'Provider fails',
    breaks: 'Three calls a second end with a 500, after the charge was made.',
    stands: 'The provider remembers only the failure under the key, so the payment is looked up.',
    page: 'exactly-once.md',
    words: 'the provider stores a failure under a key that charged',
  },
  refuses: {
    title: 'Provider refuses',
    breaks: 'Five calls a second are over the rate limit (429).',
    stands: 'A refused call charged nothing: it is made again at its next turn.',
    page: 'pace.md',
    words: 'A 429 costs only time.',
  },
  providerAway: {
    title: 'Provider unreachable',
    breaks: 'Connections to the provider are reset, and no new ones are accepted.',
    stands: 'A circuit breaker holds calls back, and no attempt is counted, for as long as it takes.',
    page: 'exactly-once.md',
    words: 'the provider is down or fails at everything',
  },
  cosmosAway: {
    title: 'Cosmos DB unreachable',
    breaks: 'No claim and no settlement can be written; a charge that was just made stays unsettled.',
    stands: 'The message comes again, and the same keys are sent again.',
    page: 'exactly-once.md',
    words: 'is away',
  },
  cosmosLost: {
    title: 'Cosmos DB loses answers',
    breaks: 'Two transactions a second are written, and their answers are lost.',
    stands: 'The batch is read again: its id in the timelines says whether it was applied.',
    page: 'exactly-once.md',
    words: 'the answer to a claim or settlement is lost',
  },
  serviceBusAway: {
    title: 'Service Bus unreachable',
    breaks: 'Claimed batches cannot be announced, and messages in hand lose their locks.',
    stands: 'The message is in the transaction of the claim; it is sent once Service Bus is back.',
    page: 'exactly-once.md',
    words: 'the host dies after the claim',
  },
  storageAway: {
    title: 'Storage unreachable',
    breaks: 'Leases can be neither taken nor renewed, and receipts wait.',
    stands: 'A holder trusts its lease only until its own deadline; then it stops.',
    page: 'exactly-once.md',
    words: 'the lock store is away',
  },
  twice: {
    title: 'Every message twice',
    breaks: 'Each second, the locks of all messages in hand expire: another host gets them too.',
    stands: 'A second delivery of a batch calls again one by one, with the same keys.',
    page: 'exactly-once.md',
    words: 'a message is sent or arrives twice',
  },
  leases: {
    title: 'Every lease to the next who asks',
    breaks: 'Leases are broken as soon as they are taken, so that several hosts do the same work.',
    stands: 'Of two claims of an invoice only one is written.',
    page: 'exactly-once.md',
    words: 'ETags decide',
  },
  lease: {
    title: 'Lease',
    breaks: 'Off: every host has every lease, and no fence tells them apart.',
    stands: 'Left: of two claims of an invoice only one is written.',
    page: 'gates.md',
    words: 'two runs write side by side; the ETags still decide',
  },
  claim: {
    title: 'Condition of the claim',
    breaks: 'Off: claims, starts and settlements are written whatever state the invoice is in.',
    stands: 'Left: one host at a time has the lease, and a second claim sends the same key.',
    page: 'gates.md',
    words: 'two batches pay it; only the idempotency key remains',
  },
  key: {
    title: 'Key of the invoice',
    breaks:
      'Off: from now on the first claim of an invoice sets a new key, as in an app that generates a random key and stores it.',
    stands: 'Left: there is only one first claim.',
    page: 'exactly-once.md',
    words: 'makes the provider repeat its first answer',
  },
} as const satisfies Record<string, Breakable>;
