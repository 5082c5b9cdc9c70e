/** Mutants that change nothing that anybody could notice, by their place, and why. */
export const equivalent: Readonly<Record<string, string>> = {
  'src/after/corrections.ts:50 < → <=': 'one try more while somebody else changes the invoice ends as well',
  'src/after/trackPayment.ts:110 > → >=': 'a counter to which nothing is added',
  'src/archive/archiveSettled.ts:127 > → >=': 'a counter to which nothing is added',
  'src/archive/customers.ts:103 named.set(shard, inShard); → nothing':
    'the same list is read again for each invoice',
};
