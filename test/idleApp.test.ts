import { describe, expect, test } from 'vitest';
import { idleApp } from '../src/idleApp.ts';
import { metric } from '../src/platform/appMetrics.ts';
import { readSchedules } from '../src/settings/readParts.ts';
import { BadSettings } from '../src/settings/settings.ts';
import { recordedTelemetry } from './support/recordedTelemetry.ts';

const missing = 'STRIPE_SECRET_KEY: is missing: expected a Stripe secret or restricted key: sk_test_…';
const bad = new BadSettings([missing, 'SHARDS: expected a whole number from 1 to 256, not "0"']);
const request = {
  params: {},
  query: [],
  headers: { get: () => null },
  text: async () => '',
  arrayBuffer: async () => new ArrayBuffer(0),
};

describe('while settings are missing or wrong', () => {
  const app = idleApp(bad, readSchedules({}));

  test('health names each of them', async () => {
    expect(await app.ops.getHealth(request)).toEqual({
      status: 503,
      jsonBody: {
        status: 'failing',
        paused: 'unknown',
        checks: {
          settings: {
            ok: false,
            ms: 0,
            error: expect.stringMatching(/^STRIPE_SECRET_KEY: is missing.*; SHARDS: expected/),
          },
        },
      },
    });
  });

  test.each(['importInvoices', 'listInvoices', 'getSummary', 'releaseLock'] as const)(
    '%s answers 503 and names them',
    async (name) => {
      const { status, body } = await app.ops[name](request);
      expect(status).toBe(503);
      expect(JSON.parse(typeof body === 'string' ? body : '')).toMatchObject({
        errors: [
          {
            field: 'STRIPE_SECRET_KEY',
            error: 'is missing: expected a Stripe secret or restricted key: sk_test_…',
          },
          { field: 'SHARDS', error: 'expected a whole number from 1 to 256, not "0"' },
        ],
      });
    },
  );

  test('the provider’s events are refused without a reason: anybody may call', async () => {
    expect(await app.receiveEvent(request)).toEqual({ status: 503 });
  });

  test.each(['processInvoices', 'sweepOutbox', 'trackPayments'] as const)(
    '%s does nothing and does not fail',
    async (name) => {
      expect(await app[name]()).toEqual({ waitingFor: bad.problems });
    },
  );

  test('each tick is counted, for the alert', async () => {
    const telemetry = recordedTelemetry();
    const counted = idleApp(bad, readSchedules({}), telemetry);
    await counted.sweepOutbox();
    await counted.trackPayments();
    expect(telemetry.values(metric.settingsInvalid)).toEqual([1, 1]);
  });
});

test.each(['executePayments', 'processWorkItem', 'recordPoison'] as const)(
  'a message of %s fails, so that its queue keeps or dead-letters it',
  async (name) => {
    await expect(idleApp(bad, readSchedules({}))[name]({}, 'id')).rejects.toBe(bad);
  },
);

test('timers keep their schedules; one that is wrong falls back to its default', () => {
  expect(readSchedules({ INVOICE_SCHEDULE: '0 0 * * * *', OUTBOX_SCHEDULE: 'daily' })).toEqual({
    invoiceSchedule: '0 0 * * * *',
    outboxSchedule: '*/30 * * * * *',
  });
});
