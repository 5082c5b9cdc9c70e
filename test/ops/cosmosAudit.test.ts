import { expect, test } from 'vitest';
import { formatVersion } from '../../packages/jobs/src/documents/storedDocuments.ts';
import type { Unreadable } from '../../packages/jobs/src/documents/unreadable.ts';
import { cosmosAudit } from '../../src/ops/cosmosAudit.ts';
import { payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualClock } from '../support/virtualClock.ts';

test('a broken record hides no other in a list and is reported; one of a newer release is passed over silently', async () => {
  await using cosmos = await payonceCosmos();
  const { audit: container } = cosmos.containers;
  const reports: Unreadable[] = [];
  const clock = virtualClock(Date.parse('2026-01-01T12:00:00.000Z'));
  const audit = cosmosAudit(container, clock, (found) => void reports.push(found));
  await audit.append({ actor: 'ada', action: 'test', target: 'good' });
  const record = { day: '2026-01-01', at: '2026-01-01T12:00:00.000Z', action: 'test', target: 'x' };
  await container.items.create({ id: 'broken', ...record });
  await container.items.create({ id: 'newer', ...record, version: formatVersion + 1 });
  const { items } = await audit.list({ from: '2026-01-01', to: '2026-01-01', pageSize: 10 });
  expect(items).toMatchObject([{ target: 'good' }]);
  expect(reports).toEqual([{ type: 'audit', id: 'broken', problem: expect.stringMatching(/^actor: /) }]);
});
