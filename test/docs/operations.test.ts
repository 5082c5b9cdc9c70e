import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { outboxStatuses } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { groupRecordSchema, runStatuses } from '../../packages/jobs/src/runs/runRecord.ts';
import { poisonSchema } from '../../packages/jobs/src/workItems/poison.ts';
import { idleApp } from '../../src/idleApp.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { disputeStatuses, refundStatuses } from '../../src/invoice/reversals.ts';
import { reasonText } from '../../src/paying/pacedProvider.ts';
import { readSchedules } from '../../src/settings/readParts.ts';
import { BadSettings } from '../../src/settings/settings.ts';
import { allSources, root } from '../infra/sources.ts';
import { alertRules } from '../support/alertRules.ts';

const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');

/** The rows of the table under a heading, without its head: the cells of each. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return lines
    .slice(2)
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim()));
}

/** The health checks that the code declares: `{ name: 'cosmos', probe: … }`, and the one of an app without its settings. */
const healthChecks = [
  ...[...allSources.matchAll(/name: '(\w+)',\s*(?:async )?probe\b/g)].map(([, name = '']) => name),
  ...(await checksWithoutSettings()),
];

async function checksWithoutSettings(): Promise<string[]> {
  const bad = new BadSettings(['SHARDS: is missing']);
  const noRequest = { params: {}, query: [], headers: { get: () => null }, text: async () => '' };
  const request = { ...noRequest, arrayBuffer: async () => new ArrayBuffer(0) };
  const { jsonBody } = await idleApp(bad, readSchedules({})).ops.getHealth(request);
  return Object.keys(z.object({ checks: z.record(z.string(), z.unknown()) }).parse(jsonBody).checks);
}

/** Every state that the code knows, by the heading of its table. */
const states: Record<string, readonly string[]> = {
  Alerts: [...alertRules().map(({ name }) => name), 'dead-letters'],
  Invoices: invoiceStatuses,
  Refunds: refundStatuses,
  Disputes: disputeStatuses,
  'Messages of the outbox': outboxStatuses,
  'Work items: receipts, notifications, look-ups, refunds': [
    'done',
    'retried',
    ...poisonSchema.shape.status.options,
  ],
  Runs: runStatuses,
  'Groups of a run': groupRecordSchema.shape.status.options,
  'Circuit breaker': Object.keys(reasonText),
  Health: healthChecks,
};

describe.each(Object.entries(states))('%s', (heading, known) => {
  const rows = rowsUnder(heading);

  test('the table has each state that the code knows, and no other', () => {
    expect(known).not.toEqual([]);
    expect(rows.map(([state = '']) => state.replaceAll('`', '')).toSorted()).toEqual(known.toSorted());
  });

  test.each(rows)('%s: what raises it, what to look at, and the one call or "none"', (...cells) => {
    expect(cells).toHaveLength(4);
    const [, raisedBy, lookAt, remedy = ''] = cells;
    expect(raisedBy).not.toBe('');
    expect(lookAt).not.toBe('');
    expect(remedy).toMatch(/^none\b|`(POST|PATCH) ops\//);
  });
});

test('how soon somebody should look is the severity of the alert', () => {
  const listed = [1, 2, 3].map((severity) => {
    const [, line = ''] = new RegExp(`^- severity ${severity},[^:]*: (.*)$`, 'm').exec(page) ?? [];
    return line
      .split(', ')
      .map((name) => name.replaceAll('`', ''))
      .toSorted();
  });
  const rules = [...alertRules(), { name: 'dead-letters', severity: 2 }];
  expect(listed).toEqual(
    [1, 2, 3].map((wanted) =>
      rules.flatMap(({ name, severity }) => (severity === wanted ? [name] : [])).toSorted(),
    ),
  );
});

test('every table of states is compared', () => {
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['The first week', 'During an outage', ...Object.keys(states)]);
});

test('each alert of an outage exists', () => {
  const named = rowsUnder('During an outage').flatMap(([, fires = '']) =>
    [...fires.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
  );
  expect(named).not.toEqual([]);
  for (const name of named) expect(states.Alerts).toContain(name);
});
