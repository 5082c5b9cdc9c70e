import { expect, test } from 'vitest';
import { mergePlan } from '../../packages/local-azure/src/cosmos/query/mergePlan.ts';
import { describeCosmos } from './describeRequest.ts';

/** Names a query of the container `invoices`, as the app sends it and as the SDK sends it to each range. */
function named(query: string): (string | undefined)[] {
  const { rewrittenQuery } = mergePlan(query, new Map([['@limit', 5]]));
  return [query, rewrittenQuery].map((text) =>
    describeCosmos({
      method: 'POST',
      path: '/dbs/payonce/colls/invoices/docs',
      headers: { 'x-ms-documentdb-isquery': 'true' },
      body: Buffer.from(JSON.stringify({ query: text, parameters: [] })),
    }),
  );
}

test.each(['SELECT VALUE COUNT(1) FROM c WHERE c.status = "parked"', 'SELECT VALUE MIN(c.createdAt) FROM c'])(
  '%s is no step of a payment',
  (query) => {
    expect(named(query)).toEqual([undefined, undefined]);
  },
);

test('a query over all partitions has one name, also as it goes to each range', () => {
  const query =
    'SELECT * FROM c WHERE c.nextAttemptAt <= @now ORDER BY c.nextAttemptAt OFFSET 0 LIMIT @limit';
  const name = 'Cosmos: query invoices (undispatched)';
  expect(named(query)).toEqual([name, name]);
});
