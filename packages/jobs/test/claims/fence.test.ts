import { expect, test } from 'vitest';
import { payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { claimDocuments } from '../../src/claims/fence.ts';
import { cosmosDocuments } from '../../src/documents/cosmosDocuments.ts';

test('a fence that is refused for its partition key is an error: the items would be contended for ever', async () => {
  await using cosmos = await payonceCosmos();
  const { invoices } = cosmos.containers;
  const { resource: item } = await invoices.items.create({ id: 'a', shard: '00' });
  if (item === undefined) throw new Error('it was not created');
  const documents = cosmosDocuments(invoices);
  const claim = (partitionKey: Record<string, string>) =>
    claimDocuments(
      { documents },
      {
        partition: '00',
        partitionKey,
        items: [item],
        fence: { lockKey: 'jobs/count/0', token: 1 },
        plan: (items) =>
          items.map(({ id, _etag }) => ({ kind: 'patch' as const, id, version: _etag, set: { by: 'us' } })),
        parse: () => [item],
        isApplied: () => false,
      },
    );
  await expect(claim({ clinic: '00' })).rejects.toThrow('partitionKey: expected that of partition "00"');
  expect(await claim({ shard: '00' })).toMatchObject({ claimed: [{ id: 'a' }], contended: 0 });
});
