import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { groupRecordSchema } from '../../packages/jobs/src/runs/runRecord.ts';
import { functionTimeoutMs } from '../../packages/jobs/src/timeBudget.ts';
import { processInvoicesJob } from '../../src/claiming/processInvoices.ts';
import { metric, metricPrefix } from '../../src/platform/appMetrics.ts';
import { alertRules } from '../support/alertRules.ts';
import { anInstance } from '../support/anInstance.ts';
import { fastPayments, plentyOfRoom } from '../support/plentyOfRoom.ts';
import { runbookEntries } from '../support/runbookEntries.ts';
import { bodyValue } from './bicep/bodyValue.ts';
import { variableValue } from './bicep/evaluate.ts';
import { infraDir, readInfra } from './bicep/readBicep.ts';
import { allSources, root } from './sources.ts';

/** Every metric by its key in the code, with the name that Application Insights knows. */
const exported = Object.entries(metric).map(([key, name]) => ({ key, name: `${metricPrefix}${name}` }));

/** Names of the metrics that the code actually reports, not just declares. */
const reported = new Set(
  exported
    .filter(({ key }) => [`metric.${key}`, `partMetric.${key}`].some((use) => allSources.includes(use)))
    .map(({ name }) => name),
);

const keyOf = (name: string) => exported.find((one) => one.name === name)?.key ?? '';

const file = readInfra('modules/alerts.bicep');
const alertsFor = alertRules;
const alerts = alertsFor({});
const workbook = z
  .object({
    items: z.array(z.object({ type: z.number(), content: z.object({ query: z.string().optional() }) })),
  })
  .parse(JSON.parse(readFileSync(join(infraDir, 'workbook.json'), 'utf8')));
const workbookQueries = workbook.items.flatMap(({ content }) => content.query ?? []);

const ruleBody = () => file.resources.get('rules')?.body.text ?? '';

const metricsIn = (query: string) => query.match(/payonce\.[a-z_.]+/g) ?? [];

/** Values that a query compares attributes with: `customDimensions.a) == "b"` and `in ("c", "d")`. */
const attributeValuesIn = (query: string) =>
  [...query.matchAll(/customDimensions\.\w+\) (?:==|in) (\([^)]*\)|"[^"]*")/g)].flatMap(([, values = '']) =>
    [...values.matchAll(/"([^"]*)"/g)].map(([, value = '']) => value),
  );

const queryOf = (name: string, given: Parameters<typeof alertRules>[0] = {}) =>
  alertsFor(given).find((alert) => alert.name === name)?.query ?? '';

describe('alerts', () => {
  test('are these', () => {
    expect(alerts.map(({ name }) => name)).toEqual([
      'due-unpaid',
      'key-rejected',
      'no-successful-run',
      'lease-lost',
      'settings-invalid',
      'lock-contention',
      'run-longer-than-interval',
      'outbox-old',
      'parked',
      'poison-work-item',
      'work-items-wait',
      'unreadable-document',
      'payment-unknown',
      'payment-in-progress',
      'payment-second',
      'payment-disputed',
      'events-rejected',
      'events-unread',
      'events-missed',
      'breaker-open',
      'payment-account',
      'refund-overdue',
      'refund-failed',
      'audit-failed',
      'backlog-growing',
      'paused',
      'archive-behind',
      'function-timeout',
      'function-failures',
    ]);
    expect(file.resources.get('deadLetters')?.type).toBe('Microsoft.Insights/metricAlerts@2018-03-01');
  });

  test.each(alerts)('$name uses metrics that the code reports', ({ name, query }) => {
    const used = metricsIn(query);
    expect(used.filter((used) => !reported.has(used))).toEqual([]);
    if (!name.startsWith('function-')) expect(used).not.toEqual([]);
  });

  test.each(alerts)('$name says what to look at first', ({ look }) => {
    expect(look).toMatch(/^Look first at /);
  });

  test('each links to its entry in the runbook of the dashboard, in what people read and in what tools get', () => {
    expect(readInfra('main.bicep').modules.get('alerts')?.body.text).toContain(
      `runbookUrl: 'https://\${functionApp.outputs.hostName}/api/ops/ui/runbook'`,
    );
    expect(readFileSync(join(root, 'ui/src/Routes.tsx'), 'utf8')).toContain("case 'runbook':");
    const link = `\${runbookUrl}#alerts-\${alert.name}`;
    expect(ruleBody()).toContain(`What to do: ${link}'`);
    expect(ruleBody()).toMatch(
      /customProperties: \{\s+runbook_url: '\$\{runbookUrl\}#alerts-\$\{alert\.name\}'/,
    );
    const ofDeadLetters = file.resources.get('deadLetters')?.body.text ?? '';
    expect(ofDeadLetters.split(`\${runbookUrl}#alerts-dead-letters`)).toHaveLength(3);
    const entries = runbookEntries();
    const linked = [...alerts.map(({ name }) => name), 'dead-letters'].map((name) => `alerts-${name}`);
    expect(linked.filter((id) => !entries.has(id))).toEqual([]);
  });

  test.each(alerts)('$name has no placeholder left, and ends by filtering for problems', ({ query }) => {
    expect(query).not.toMatch(/THRESHOLD|INTERVAL/);
    expect(query.trim().split('\n').at(-1)).toMatch(/^\| where \w+ [<>] [\d.]+$/);
  });

  test.each([
    [60, 'PT15M'],
    [300, 'PT15M'],
    [301, 'PT30M'],
    [3600, 'PT3H'],
    [21_600, 'P1D'],
    // Three intervals exceed the longest window that a rule accepts.
    [86_400, 'P2D'],
  ])('no-successful-run with a run every %i s has a window of %s', (invoiceIntervalSeconds, window) => {
    const windows = new Map(alertsFor({ invoiceIntervalSeconds }).map((alert) => [alert.name, alert.window]));
    const take = (name: string) => {
      const taken = windows.get(name);
      windows.delete(name);
      return taken;
    };
    expect(take('no-successful-run')).toBe(window);
    expect(take('backlog-growing')).toBe('PT1H');
    // The provider is asked every two minutes, but a call that is refused may come only every quarter of an hour.
    expect(take('key-rejected')).toBe('PT30M');
    // The archive's timer fires once an hour.
    expect(take('archive-behind')).toBe('PT3H');
    // The list of events is read once an hour, and a refund that is not made is looked at once a day.
    expect(take('events-missed')).toBe('PT3H');
    expect(take('refund-overdue')).toBe('P1D');
    expect(new Set(windows.values())).toEqual(new Set(['PT15M']));
    expect(ruleBody()).toMatch(/windowSize: alert\.window\n/);
  });

  test('no-successful-run expects a completed run in every group that the code has', () => {
    const query = queryOf('no-successful-run', { shardGroups: 7 });
    const [, last] = /range\(0, (\d+), 1\)/.exec(query) ?? [];
    const unused = () => {
      throw new Error('this job does not run');
    };
    const { name, groups } = processInvoicesJob(
      {
        ...plentyOfRoom,
        invoices: { due: unused, claim: unused, openClaims: unused },
        followUps: unused,
        checkShards: unused,
        instance: anInstance(),
      },
      { shards: 16, groups: 7, batchSize: 1, claimStaleMs: 1, callWindowMs: 210_000, ceiling: fastPayments },
    );
    expect(groups).toEqual(Array.from({ length: Number(last) + 1 }, (_, group) => `${group}`));
    expect(query).toContain(`"${name}"`);
  });

  test('run-longer-than-interval counts cut-off runs: none can outlast an interval above the function timeout', () => {
    const interval = functionTimeoutMs / 1000 + 1;
    const query = queryOf('run-longer-than-interval', { invoiceIntervalSeconds: interval });
    expect(query).toContain(`longest > ${interval * 1000}`);
    const [cut = ''] = attributeValuesIn(query);
    expect(groupRecordSchema.shape.status.options).toContain(cut);
    expect(query).toContain(
      `(name == "${metricPrefix}${metric.runGroupEnded}" and tostring(customDimensions.status) == "partial")`,
    );
    expect(query).toMatch(/extend late = cut \+ /);
  });

  test.each([
    ['parked', `${metricPrefix}${metric.parkedWaiting}`],
    ['poison-work-item', `${metricPrefix}${metric.workItemPoisonWaiting}`],
  ])('%s stays active until nothing waits: it uses the latest value of %s', (alert, gauge) => {
    const query = queryOf(alert);
    expect(metricsIn(query)).toEqual([gauge]);
    expect(query).toMatch(/\| summarize arg_max\(timestamp, valueMax\)\n\| where valueMax > 0\n/);
    expect(allSources).toMatch(new RegExp(`telemetry\\.record\\(metric\\.${keyOf(gauge)}\\b`));
    expect(ruleBody()).toContain('autoMitigate: true');
  });

  test('outbox-old also fires without sweeps: a missing report is not good news', () => {
    expect(queryOf('outbox-old')).toContain('| extend waited = iff(sweeps > 0, oldest, 900000.0)');
  });

  test('requests that sampling drops are still counted', () => {
    // Requests are sampled: a row represents itemCount of them.
    const requests = [...alerts.map(({ query }) => query), ...workbookQueries].filter((query) =>
      query.startsWith('requests'),
    );
    expect(requests).toHaveLength(2);
    for (const query of requests) {
      expect(query).toContain('itemCount');
      expect(query).not.toMatch(/\b(count|countif|avg)\(/);
    }
  });

  test('attributes and their values exist in the code', () => {
    const queries = [...alerts.map(({ query }) => query), ...workbookQueries].join('\n');
    const attributes = new Set([...queries.matchAll(/customDimensions\.(\w+)/g)].map(([, name]) => name));
    for (const attribute of attributes) expect(allSources).toMatch(new RegExp(`\\b${attribute}(:|,| \\})`));
    const values = new Set(attributeValuesIn(queries));
    expect(values).toContain('completed');
    for (const value of values) expect(allSources).toContain(`'${value}'`);
  });

  test('attributeValuesIn finds values after == and in lists', () => {
    const query = 'tostring(customDimensions.a) == "b" and tostring(customDimensions.c) in ("d", "e-f")';
    expect(attributeValuesIn(query)).toEqual(['b', 'd', 'e-f']);
  });

  test('every attribute comparison has a form that attributeValuesIn understands', () => {
    for (const query of [...alerts.map(({ query }) => query), ...workbookQueries]) {
      const compared = query.match(/customDimensions\.\w+\) (?!(==|in) ["(])\S+/g) ?? [];
      expect(compared.filter((text) => /[=!~<>]|\b(in|has|contains)/.test(text))).toEqual([]);
    }
  });
});

test('every metric that the code reports is in an alert or a chart', () => {
  const shown = new Set([...alerts.map(({ query }) => query), ...workbookQueries].flatMap(metricsIn));
  expect([...reported].filter((name) => !shown.has(name))).toEqual([]);
});

describe('the workbook', () => {
  test.each(workbookQueries)('%s', (query) => {
    expect(metricsIn(query).filter((name) => !reported.has(name))).toEqual([]);
    expect(query).toMatch(/^(customMetrics|requests)\n/);
  });
});

describe('quiet hours', () => {
  test.each([
    ['', ''],
    ['2026-12-01T11:59:59Z', ''],
    ['2026-12-01T14:00:00Z', '| where now() > datetime(2026-12-01T14:00:00Z)'],
  ])(
    'until %j: the last line of each query is %j, so that what is wrong at the end fires then',
    (until, line) => {
      const quiet = variableValue(file, 'quiet', { quietUntil: until, now: '2026-12-01T12:00:00Z' });
      expect(variableValue(file, 'notBefore', { quiet, quietUntil: until })).toBe(line);
      for (const { query } of alerts) expect(query).toMatch(/\n$/);
    },
  );
});

test('several people and several webhooks are told', () => {
  const group = bodyValue(file, 'actionGroup', {
    alertEmail: 'a@example.com,b@example.com',
    alertWebhooks: 'https://example.com/1',
  });
  expect(group).toMatchObject({
    properties: {
      emailReceivers: [
        { name: 'on call', emailAddress: 'a@example.com' },
        { name: 'on call 2', emailAddress: 'b@example.com' },
      ],
      webhookReceivers: [{ serviceUri: 'https://example.com/1' }],
    },
  });
  expect(bodyValue(file, 'actionGroup', { alertEmail: '', alertWebhooks: '' })).toMatchObject({
    properties: { emailReceivers: [], webhookReceivers: [] },
  });
});
