/**
 * One invoice of fifty crashes the process that pays it, every time. The host is started again each time, and the others have
 * to be paid.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { addUp, readFigures } from '../../local/start/figures.ts';
import { systemClock as clock } from '../../packages/leases/src/clock.ts';
import { maxAttempts } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { idempotencyKey } from '../../src/paying/idempotencyKey.ts';
import { startFaultProxy } from '../support/faultProxy.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { importRows } from '../support/importing.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'payonce-poison-'));
afterAll(() => removeFolder(folder));

const count = 50;
const poison = 'inv-17';

// They spend most of their time waiting, so they wait together.
test.concurrent.each([
  {
    how: 'whose claims go stale before their message comes again',
    lockDuration: 'PT1M',
    claimStaleSeconds: 25,
    again: 'reclaimed',
  },
  {
    how: 'whose message comes again before their claims go stale',
    lockDuration: 'PT5S',
    claimStaleSeconds: 60,
    again: 'called again',
  },
])(
  'an invoice that crashes its process: of 50 $how, 49 are paid and one is parked within ten stale times',
  { timeout: 700_000 },
  async ({ how, lockDuration, claimStaleSeconds, again }) => {
    const serviceBusConfig = join(folder, `${lockDuration}.json`);
    const config = readFileSync('local/serviceBusConfig.json', 'utf8');
    writeFileSync(serviceBusConfig, config.replace('PT1M', lockDuration));
    await using cloud = await startLocalCloud({ serviceBusConfig });
    const container = cloud.cosmosClient.database('payonce').container('invoices');
    const rows = Array.from({ length: count }, (_, index) => ({
      index,
      invoice: {
        id: `inv-${index}`,
        customerId: 'cus_1',
        amountMinor: 100 + index,
        currency: 'USD',
        dueAt: '2025-01-01T00:00:00.000Z',
        paymentMethod: 'pm_card_visa',
      },
    }));
    await importRows(cosmosInvoiceStore(container, { clock, shards: 1 }), rows, 'test');

    let host: HostProcess | undefined;
    let deaths = 0;
    await using provider = await startFaultProxy({
      target: cloud.payments,
      fault({ headers }) {
        const key = String(headers['idempotency-key']);
        if (!key.endsWith(`-${idempotencyKey(poison, 1)}`)) return { kind: 'none' };
        deaths++;
        host?.kill('SIGKILL');
        return { kind: 'blackHole' };
      },
    });
    const env = {
      ...settingsFor(cloud),
      STRIPE_API_BASE: provider.origin,
      SHARDS: '1',
      SHARD_GROUPS: '1',
      LEASE_SECONDS: '15',
      CLAIM_STALE_SECONDS: `${claimStaleSeconds}`,
      INVOICE_SCHEDULE: '* * * * * *',
      OUTBOX_SCHEDULE: '* * * * * *',
    };
    const stop = new AbortController();
    const hosts = keepHostUp();
    const started = performance.now();

    const figures = () => readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments });
    try {
      await until(
        async () => {
          const { invoices } = await figures();
          const open = invoices.filter(({ status }) => status !== 'paid' && status !== 'parked');
          return open.map(({ id, timeline }) => ({ id, ...timeline.at(-1) }));
        },
        (open) => open.length === 0,
        { withinMs: 10 * claimStaleSeconds * 1_000 },
      );
    } finally {
      stop.abort();
      host?.kill('SIGKILL');
      await hosts;
    }
    console.log(`of 50 ${how}: ${((performance.now() - started) / 1000).toFixed(0)} s, ${deaths} hosts died`);

    const { invoices, charges } = await figures();
    expect(invoices.filter(({ status }) => status === 'paid')).toHaveLength(count - 1);
    const parked = invoices.find(({ id }) => id === poison);
    expect(parked).toMatchObject({
      status: 'parked',
      reason: expect.stringMatching(
        `^${maxAttempts} attempts ended without a known outcome, the last one alone: paying it may crash the process; `,
      ),
    });
    expect(deaths).toBe(maxAttempts);
    expect(parked?.timeline.map(({ what }) => what)).toContain(again);
    expect(addUp({ invoices, charges, undispatched: 0 })).toMatchObject({
      problems: [expect.stringContaining(`${poison} is parked`)],
      chargedTwice: 0,
    });
    expect(charges).toHaveLength(count - 1);

    /** Starts a host whenever there is none, as the platform does. */
    async function keepHostUp(): Promise<void> {
      for (let generation = 1; !stop.signal.aborted; generation++) {
        await using next = await startHostProcess({
          app,
          // A dead host's timers would be taken over after a minute, which is more than two stale times here.
          args: ['--no-timer-singleton'],
          env: { ...env, INSTANCE_ID: `host-${generation}` },
        });
        host = next;
        if (!stop.signal.aborted) await next.exited;
      }
    }
  },
);
