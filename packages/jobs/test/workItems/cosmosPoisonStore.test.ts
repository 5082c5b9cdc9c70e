import { expect, test } from 'vitest';
import { payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import type { Unreadable } from '../../src/documents/unreadable.ts';
import { cosmosPoisonStore } from '../../src/workItems/cosmosPoisonStore.ts';

test('a broken record hides no other in the list, and is reported', async () => {
  await using cosmos = await payonceCosmos();
  const { workItems } = cosmos.containers;
  const reports: Unreadable[] = [];
  const store = cosmosPoisonStore(workItems, (found) => void reports.push(found));
  const record = {
    resourceId: 'inv-1',
    status: 'poison' as const,
    text: '{}',
    at: '2026-01-01T12:00:00.000Z',
  };
  await store.create({ ...record, id: 'poison:good', reason: 'five failures' });
  await workItems.items.create({ ...record, id: 'poison:broken' });
  expect((await store.list(10)).map(({ id }) => id)).toEqual(['poison:good']);
  expect(reports).toEqual([
    { type: 'poison', id: 'poison:broken', problem: expect.stringMatching(/^reason: /) },
  ]);
});
