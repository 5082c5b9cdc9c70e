import { expect, test } from 'vitest';
import { payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import type { Unreadable } from '../../src/documents/unreadable.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { newManualRun } from '../../src/runs/manualRun.ts';

test('a broken record hides no other in a list and is reported; one of a newer release is passed over silently', async () => {
  await using cosmos = await payonceCosmos();
  const { runs: container } = cosmos.containers;
  const reports: Unreadable[] = [];
  const runs = cosmosRunStore(container, (found) => void reports.push(found));
  const aRun = (runId: string) =>
    newManualRun({ job: 'count', runId, groups: ['0'], dryRun: false }, '2026-01-01T00:00:00.000Z');
  await runs.create(aRun('good'));
  await container.items.create({ ...aRun('broken'), status: 'walking' });
  await container.items.create({ ...aRun('newer'), status: 'walking', version: formatVersion + 1 });
  const { items } = await runs.list({ job: 'count', pageSize: 10 });
  expect(items.map(({ id }) => id)).toEqual(['good']);
  expect(reports).toEqual([{ type: 'run', id: 'broken', problem: expect.stringMatching(/^status: /) }]);
});
