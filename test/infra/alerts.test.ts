import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { metric } from '../../src/platform/telemetry.ts';
import { variableValue } from './bicep/evaluate.ts';
import { infraDir, readInfra } from './bicep/readBicep.ts';
import { allSources } from './sources.ts';

/** Names of the metrics that the code reports, not only names. */
const reported = new Set<string>(
  Object.entries(metric)
    .filter(([key]) => allSources.includes(`metric.${key}`))
    .map(([, name]) => name),
);

const alertList = z.array(
  z.object({
    name: z.string(),
    title: z.string(),
    severity: z.number(),
    look: z.string(),
    query: z.string(),
  }),
);
const file = readInfra('modules/alerts.bicep');
const alerts = alertList.parse(
  variableValue(file, 'alerts', { invoiceIntervalSeconds: 300, lockContentionThreshold: 200 }),
);
const workbook = z
  .object({
    items: z.array(z.object({ type: z.number(), content: z.object({ query: z.string().optional() }) })),
  })
  .parse(JSON.parse(readFileSync(join(infraDir, 'workbook.json'), 'utf8')));
const workbookQueries = workbook.items.flatMap(({ content }) => content.query ?? []);

const metricsIn = (query: string) => query.match(/payonce\.[a-z_.]+/g) ?? [];

describe('alerts', () => {
  test('the list', () => {
    expect(alerts.map(({ name }) => name)).toEqual([
      'no-successful-run',
      'lease-lost',
      'lock-contention',
      'run-longer-than-interval',
      'outbox-old',
      'parked',
      'poison-work-item',
      'payment-unknown',
      'breaker-open',
      'function-failures',
    ]);
    expect(file.resources.get('deadLetters')?.type).toBe('Microsoft.Insights/metricAlerts@2018-03-01');
  });

  test.each(alerts)('$name uses metrics that the code reports', ({ name, query }) => {
    const used = metricsIn(query);
    expect(used.filter((used) => !reported.has(used))).toEqual([]);
    if (name !== 'function-failures') expect(used).not.toEqual([]);
  });

  test.each(alerts)('$name says what to look at first', ({ look }) => {
    expect(look).toMatch(/^Look first at /);
  });

  test.each(alerts)(
    '$name has no threshold left open, and ends with the rows that are wrong',
    ({ query }) => {
      expect(query).not.toMatch(/THRESHOLD|INTERVAL/);
      expect(query.trim().split('\n').at(-1)).toMatch(/^\| where \w+ [<>] [\d.]+$/);
    },
  );

  test('attributes and their values are those of the code', () => {
    const queries = [...alerts.map(({ query }) => query), ...workbookQueries].join('\n');
    const attributes = new Set([...queries.matchAll(/customDimensions\.(\w+)/g)].map(([, name]) => name));
    for (const attribute of attributes) expect(allSources).toMatch(new RegExp(`\\b${attribute}(:|,| \\})`));
    for (const [, value] of queries.matchAll(/customDimensions\.\w+\) == "(\w+)"/g))
      expect(allSources).toContain(`'${value}'`);
  });
});

describe('the workbook', () => {
  test.each(workbookQueries)('%s', (query) => {
    expect(metricsIn(query).filter((name) => !reported.has(name))).toEqual([]);
    expect(query).toMatch(/^(customMetrics|requests)\n/);
  });
});
