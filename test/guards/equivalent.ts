/** Mutants that change nothing that anybody could notice, by their place, and why. */
export const equivalent: Readonly<Record<string, string>> = {
  'src/after/corrections.ts:50 < → <=': 'one try more while somebody else changes the invoice ends as well',
  'src/after/trackPayment.ts:110 > → >=': 'a counter to which nothing is added',
  'src/archive/archiveSettled.ts:120 > → >=': 'a counter to which nothing is added',
  'src/archive/customers.ts:102 named.set(shard, inShard); → nothing':
    'the same list is read again for each invoice',
  'packages/jobs/src/outbox/sweepOutbox.ts:107 taken.get(destination) ?? false → taken.get(destination)':
    'undefined counts as false',
};
