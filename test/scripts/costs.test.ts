import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { alertsIn } from '../../scripts/costs/alertsIn.ts';
import { autoscale, breakEven, monthlyCosts, requestUnits } from '../../scripts/costs/monthlyCosts.ts';
import { prices } from '../../scripts/costs/prices.ts';
import { costPage } from '../../scripts/costs/table.ts';
import { variableValue } from '../infra/bicep/evaluate.ts';
import { readInfra } from '../infra/bicep/readBicep.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const alerts = alertsIn(read('infra/modules/alerts.bicep'));

test('docs/cost.md has what npm run check -- costs prints', () => {
  expect(read('docs/cost.md')).toContain(costPage(alerts));
});

test('the alerts are those of the template, with the frequencies that their prices are for', () => {
  const file = readInfra('modules/alerts.bicep');
  const list = variableValue(file, 'alerts');
  const urgent = variableValue(file, 'urgent');
  expect(Array.isArray(list) && Array.isArray(urgent)).toBe(true);
  const [all, often] = [list, urgent].map((value) => (Array.isArray(value) ? value.length : 0));
  expect(alerts).toEqual({ urgent: often, log: (all ?? 0) - (often ?? 0), metric: 1 });
  expect(alerts.urgent).toBeGreaterThan(0);
  const frequencies = [...read('infra/modules/alerts.bicep').matchAll(/evaluationFrequency: (.+)$/gm)];
  expect(frequencies.map(([, frequency]) => frequency)).toEqual([
    "contains(urgent, alert.name) ? 'PT1M' : 'PT5M'",
    "'PT5M'",
  ]);
});

test('the quick start says what a day costs', () => {
  const month = monthlyCosts(1_000, alerts).reduce((sum, { usd }) => sum + usd, 0);
  expect(read('docs/deploy.md')).toContain(
    `[about ${(month / 30).toFixed(1)} US dollars a day](#estimated-cost)`,
  );
});

test('the README says what a month costs', () => {
  const dollars = (invoices: number) =>
    Math.round(monthlyCosts(invoices, alerts).reduce((sum, { usd }) => sum + usd, 0));
  const ofAlerts = monthlyCosts(1_000, alerts).find(({ name }) => name.startsWith('Alerts'))?.usd ?? 0;
  const readme = read('README.md').replaceAll(/\s+/g, ' ');
  expect(readme).toContain(
    `about ${dollars(1_000)} US dollars a month for 1,000 invoices, ${dollars(100_000)} for 100,000, ` +
      `${dollars(10_000_000)} for 10,000,000, of which ${Math.round(ofAlerts)} are for alerts`,
  );
});

test.each(Object.entries(prices))('%s has a source and a date', (_name, { usd, source, noted }) => {
  expect(usd).toBeGreaterThan(0);
  expect(source).toMatch(/^https:\/\/azure\.microsoft\.com\/pricing\/details\//);
  expect(noted).toMatch(/^\d{4}-\d\d-\d\d$/);
});

describe('autoscale', () => {
  test('is cheaper than serverless above 1.2 % of a steady load, or 12 % of one that peaks every hour', () => {
    expect(breakEven().steady).toBeCloseTo(0.012, 3);
    expect(breakEven().peaks).toBeCloseTo(0.12, 2);
  });

  test('is billed for a tenth of its maximum at least, and never for less than 100 RU/s', () => {
    expect(autoscale(0, 1)).toEqual({ maxRu: 1_000, usd: expect.closeTo(730 * 0.012, 5) });
  });

  test('is cheaper at ten million invoices a month, and dearer at a hundred thousand', () => {
    const serverless = (invoices: number) => (requestUnits(invoices) / 1e6) * prices.cosmosMillionRu.usd;
    expect(autoscale(10_000_000, 25).usd).toBeLessThan(serverless(10_000_000));
    expect(autoscale(100_000, 25).usd).toBeGreaterThan(serverless(100_000));
  });
});

test('more invoices cost more, line by line', () => {
  const [few, many] = [monthlyCosts(1_000, alerts), monthlyCosts(10_000_000, alerts)];
  expect(few.map(({ name }) => name)).toEqual(many.map(({ name }) => name));
  for (const [line, { usd }] of few.entries()) expect(many[line]?.usd).toBeGreaterThanOrEqual(usd);
});
