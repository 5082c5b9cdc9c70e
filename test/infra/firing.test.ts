import { describe, expect, test } from 'vitest';
import type { Attributes } from '../../packages/leases/src/telemetry.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { alertRules, firing, type Report } from '../support/alertRules.ts';
import { runKql } from '../support/kql/runKql.ts';

const minute = 60_000;
const now = 100 * minute;
const rules = alertRules();

/** A report `ago` milliseconds ago. */
function report(name: string, value: number, attributes: Attributes = {}, ago = minute): Report {
  return { at: now - ago, name, value, attributes };
}

const oldest = (since: 'claim' | 'due', ms: number, ago?: number) =>
  report(metric.invoiceOverdueOldestMs, ms, { since }, ago);
const paid = (count: number) => report(metric.paymentOutcome, count, { outcome: 'succeeded' });

/** True if an alert's query yields a row, given these reports in a time in which nothing else is wrong. */
const fires = (name: string, reports: readonly Report[]) =>
  [...firing(rules, reports, now).keys()].includes(name);

describe('due-unpaid', () => {
  test.each<[string, boolean, Report[]]>([
    ['nothing is overdue', false, [oldest('claim', 0), oldest('due', 0)]],
    ['a claim is being paid', false, [oldest('claim', 4 * minute), oldest('due', 0)]],
    ['a claim is not paid', true, [oldest('claim', 6 * minute), oldest('due', 0)]],
    ['a claim is not paid, and others are', true, [oldest('claim', 6 * minute), paid(100_000)]],
    ['an invoice waits for the next run', false, [oldest('claim', 0), oldest('due', 8 * minute)]],
    ['nobody claims', true, [oldest('claim', 0), oldest('due', 10 * minute)]],
    [
      'a backlog is being paid at half the configured rate',
      false,
      [oldest('claim', minute), oldest('due', 60 * minute), paid(0.5 * 25 * 900)],
    ],
    [
      'a backlog is hardly being paid',
      true,
      [oldest('claim', minute), oldest('due', 60 * minute), paid(0.1 * 25 * 900)],
    ],
    ['nobody reports', true, []],
    ['the last report is nine minutes old', true, [oldest('claim', 0, 9 * minute)]],
    ['the last report is seven minutes old', false, [oldest('claim', 0, 7 * minute)]],
    ['runs succeed', true, [oldest('due', 10 * minute), report(metric.runEnded, 1, { status: 'completed' })]],
  ])('%s: %s', (_, expected, reports) => {
    expect(fires('due-unpaid', reports)).toBe(expected);
  });
});

describe('a rejected key', () => {
  test('one refused call in half an hour is enough, and raises one alert', () => {
    const reports = [
      oldest('claim', 0),
      report(metric.providerKeyRejected, 1, {}, 29 * minute),
      report(metric.providerKeyRejected, 0),
      report(metric.paymentBreakerOpen, 1, { reason: 'keyRejected' }),
    ];
    expect(fires('key-rejected', reports)).toBe(true);
    expect(fires('breaker-open', reports)).toBe(false);
  });

  test('a key that is taken raises none', () => {
    expect(fires('key-rejected', [report(metric.providerKeyRejected, 0)])).toBe(false);
  });
});

test.each(['providerDown', 'badAnswer'])('breaker-open says why: %s', (reason) => {
  const reports = [report(metric.paymentBreakerOpen, 2, { reason })];
  expect(firing(rules, reports, now).get('breaker-open')).toEqual([{ reason, opened: 2 }]);
  expect(fires('key-rejected', reports)).toBe(false);
});

test.each<[string, boolean, number, number]>([
  ['the webhook brings everything', false, 0, 50],
  ['a single event is late', false, 1, 50],
  ['it does not bring some kinds of events', true, 6, 50],
  ['it is silent', true, 1, 0],
])('events-missed: %s', (_, expected, missed, stored) => {
  const events = (outcome: string, count: number) => report(metric.paymentEvent, count, { outcome });
  expect(fires('events-missed', [events('missed', missed), events('stored', stored)])).toBe(expected);
});

test('refund-overdue fires for a day after the last check of a refund that is not made', () => {
  expect(fires('refund-overdue', [])).toBe(false);
  expect(fires('refund-overdue', [report(metric.refundOverdue, 1, {}, 20 * minute)])).toBe(true);
});

test('work-items-wait fires for a single item that has been waiting for five minutes, and says for what', () => {
  const waits = { stage: 'notify', error: 'RetryLater' };
  const waited = (ms: number) => [report(metric.workItemWaitedMs, ms, waits, 14 * minute)];
  expect(fires('work-items-wait', waited(4 * minute))).toBe(false);
  expect(firing(rules, waited(6 * minute), now).get('work-items-wait')).toEqual([
    { ...waits, waited: 6 * minute, tries: 1 },
  ]);
});

test('function-failures counts no batch that a stop gave back, whatever else fails', () => {
  const rule = rules.find(({ name }) => name === 'function-failures');
  const failed = (operation_Name: string, itemCount: number) => ({
    operation_Name,
    itemCount,
    success: false,
  });
  const requests = [
    failed('executePayments', 16),
    failed('Functions.executePayments', 16),
    failed('archiveInvoices', 6),
    failed('sweepOutbox', 5),
  ];
  expect(runKql(rule?.query ?? '', { requests }, now)).toEqual([
    { operation_Name: 'archiveInvoices', failures: 6 },
  ]);
});

test('a healthy app raises no alert', () => {
  const completed = [0, 1, 2, 3].map((group) =>
    report(metric.runGroupEnded, 1, { job: 'process-invoices', group: `${group}`, status: 'completed' }),
  );
  const healthy = [
    ...completed,
    oldest('claim', minute),
    oldest('due', minute),
    paid(100),
    report(metric.outboxOldestMs, 1_000),
    report(metric.parkedWaiting, 0),
    report(metric.workItemPoisonWaiting, 0),
    report(metric.paymentUnknownOldestMs, 0),
    report(metric.paymentInProgressOldestMs, 0),
    report(metric.providerKeyRejected, 0),
    report(metric.invoiceBacklog, 3),
  ];
  expect([...firing(rules, healthy, now).keys()]).toEqual([]);
});

test.each<[string, boolean, Report[]]>([
  [
    'a run had no time for what is a few days late',
    false,
    [report(metric.archiveBehindMs, 6 * 24 * 60 * minute)],
  ],
  ['what is left is more than a week late', true, [report(metric.archiveBehindMs, 8 * 24 * 60 * minute)]],
  ['one run failed', false, [report(metric.archiveFailed, 1), report(metric.archiveBehindMs, 0)]],
  [
    'two in three hours',
    true,
    [
      report(metric.archiveFailed, 1, {}, 70 * minute),
      report(metric.archiveFailed, 1),
      report(metric.archiveBehindMs, 0),
    ],
  ],
])('archive-behind, %s: %s', (_, expected, reports) => {
  expect(fires('archive-behind', reports)).toBe(expected);
});

test('with no telemetry at all, the alerts that watch for silence fire, and no other', () => {
  expect([...firing(rules, [], now).keys()]).toEqual(['due-unpaid', 'no-successful-run', 'outbox-old']);
});

describe('queries are evaluated as Kusto does', () => {
  const rows = [1, 2, 5].map((value) => ({
    timestamp: now - value * minute,
    value,
    kind: value > 1 ? 'b' : 'a',
  }));
  test.each<[string, unknown]>([
    ['t | summarize n = count(), most = max(value), sum(value)', [{ n: 3, most: 5, sum: 8 }]],
    ['t | where value > 9 | summarize n = count(), most = max(value)', [{ n: 0, most: null }]],
    ['t | where value > 9 | summarize n = count() by kind', []],
    [
      't | summarize n = countif(value > 1 and timestamp > ago(3m)) by kind',
      [
        { kind: 'a', n: 0 },
        { kind: 'b', n: 1 },
      ],
    ],
    ['t | summarize arg_max(timestamp, value)', [{ timestamp: now - minute, value: 1 }]],
    ['t | summarize x = maxif(value, kind == "c") | where x > 0 or not(x > 0)', [{ x: null }]],
    [
      't | order by value asc | extend grew = value - prev(value, 1, value) | where grew > 2',
      [{ ...rows[2], grew: 3 }],
    ],
    [
      't | where kind in ("a", "c") | extend y = iff(value * 2 == 2, "two", "more") | where y == "two"',
      [{ ...rows[0], y: 'two' }],
    ],
    [
      't | summarize s = make_set_if(value, value > 1) | extend rest = set_difference(range(1, 3, 1), s)',
      [{ s: [2, 5], rest: [1, 3] }],
    ],
  ])('%s', (query, expected) => {
    expect(runKql(query, { t: rows }, now)).toEqual(expected);
  });

  test.each([
    't | take 1',
    't | where nosuch(value) > 1',
    't | where value ~ 2',
    'u | where value > 1',
    't | where other > 1',
  ])('what it does not know is an error: %s', (query) => {
    expect(() => runKql(query, { t: rows }, now)).toThrow();
  });
});

test('function-timeout: what the host says when it ends a worker, and nothing else', () => {
  const rule = rules.find(({ name }) => name === 'function-timeout');
  const of = (message: string) =>
    runKql(
      rule?.query ?? '',
      { traces: [{ timestamp: now, message, itemCount: 1, cloud_RoleInstance: 'a' }] },
      now,
    );
  const restarting = 'Restarting worker process executing invocationId';
  expect(of(`A function timeout has occurred. ${restarting} 'x'.`)).toEqual([
    { cloud_RoleInstance: 'a', timeouts: 1 },
  ]);
  expect(of(`${restarting} 'x'.`)).toEqual([]);
});

test('settings-invalid: one tick that could do nothing is enough', () => {
  expect(fires('settings-invalid', [oldest('claim', 0)])).toBe(false);
  expect(fires('settings-invalid', [report(metric.settingsInvalid, 1)])).toBe(true);
});
