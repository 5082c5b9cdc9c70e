// One trace from the timer, or from an HTTP call, to the receipt and the webhook: real hosts on the local cloud, which send
// their spans to a receiver.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReceivedSpan } from '../../local/traces/otlp.ts';
import { startTraceReceiver, type TraceReceiver } from '../../local/traces/traceReceiver.ts';
import { traceTree } from '../../local/traces/traceTree.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { until } from '../support/until.ts';

const stack = new AsyncDisposableStack();
let cloud: LocalCloud;
let traces: TraceReceiver;
let webhook: { url: string; traceparents: Map<string, string | undefined> };
const never = '0 0 0 29 2 *';

beforeAll(async () => {
  cloud = stack.use(await startLocalCloud());
  traces = stack.use(await startTraceReceiver());
  webhook = await startWebhook();
}, 90_000);
afterAll(() => stack.disposeAsync(), 60_000);

/** A receiver of notifications that keeps the traceparent with which each invoice was announced. */
async function startWebhook() {
  const traceparents = new Map<string, string | undefined>();
  const server = createServer((request, response) => {
    void (async () => {
      const { data } = JSON.parse((await request.toArray()).join('')) as { data: { invoiceId: string } };
      traceparents.set(data.invoiceId, request.headers.traceparent as string | undefined);
      response.end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, traceparents };
}

/** A host that gives its leases back when its test ends, and sends its last spans. */
async function startHost(name: string, env: Record<string, string>): Promise<HostProcess> {
  const host = await startHostProcess({
    app: process.cwd(),
    args: ['--no-timer-singleton'],
    env: {
      ...settingsFor(cloud),
      INSTANCE_ID: name,
      INVOICE_SCHEDULE: never,
      OUTBOX_SCHEDULE: '*/5 * * * * *',
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.endpoint,
      NOTIFY_WEBHOOK_URL: webhook.url,
      NOTIFY_WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      ...env,
    },
  });
  return {
    ...host,
    async [Symbol.asyncDispose]() {
      host.kill('SIGINT');
      await host.exited;
    },
  };
}

/** An amount with more digits than a time in a trace has, so that only the amount itself can match. */
const amountMinor = 19_990_017;

function invoice(id: string, paymentMethod = 'pm_card_visa') {
  const dueAt = '2025-01-01T00:00:00Z';
  return { id, customerId: `cus-${id}`, amountMinor, currency: 'USD', dueAt, paymentMethod };
}

async function post(host: HostProcess, path: string, body: unknown, headers = {}): Promise<Response> {
  return fetch(`${host.address}/api/ops/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const about = (id: string) => (span: ReceivedSpan) =>
  span.attributes['invoice.id'] === id || span.attributes['work_item.resource'] === id;
const named = (name: string, id: string) =>
  traces.spans.filter((span) => span.name === name).filter(about(id));

/** The span and those above it, as far as they have arrived. */
function lineage(span: ReceivedSpan): string[] {
  const parent = traces.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [span.name] : [...lineage(parent), span.name];
}

function arrived(...spans: readonly [name: string, id: string][]): Promise<unknown> {
  return until(
    async () => spans.map(([name, id]) => named(name, id).length),
    (counts) => counts.every((count) => count > 0),
    { withinMs: 60_000 },
  );
}

describe('a traced invoice', { timeout: 180_000 }, () => {
  test('has one trace from the timer to the receipt and the webhook, over two hosts', async () => {
    await using paying = await startHost('paying', { TRACE_SAMPLE: '1', INVOICE_SCHEDULE: '*/2 * * * * *' });
    await using _other = await startHost('other', { TRACE_SAMPLE: '1', INVOICE_SCHEDULE: '*/2 * * * * *' });
    await post(paying, 'invoices', [invoice('timer-1'), invoice('timer-2')]);
    await arrived(
      ['pay invoice', 'timer-1'],
      ['work item receipt', 'timer-1'],
      ['work item notify', 'timer-1'],
    );

    const [payment] = named('pay invoice', 'timer-1');
    const [receipt] = named('work item receipt', 'timer-1');
    const [notification] = named('work item notify', 'timer-1');
    if (payment === undefined || receipt === undefined || notification === undefined) throw new Error('none');
    const { traceId } = payment;
    const parents = async () => [lineage(payment), lineage(receipt)].map((names) => names.slice(0, 3));
    await until(parents, (lines) => lines.every(([first]) => first === 'run job'));
    expect(lineage(payment)).toEqual(['run job', 'run group', 'claim batch', 'pay batch', 'pay invoice']);
    expect(lineage(receipt).slice(0, 5)).toEqual([
      'run job',
      'run group',
      'claim batch',
      'pay batch',
      'settle batch',
    ]);
    expect([receipt.traceId, notification.traceId]).toEqual([traceId, traceId]);
    const { attributes } = payment;
    expect(attributes).toMatchObject({ 'invoice.id': 'timer-1', 'payment.result': 'paid' });
    const claim = traces.spans.find(
      (span) => span.name === 'claim batch' && span.attributes['batch.id'] === attributes['batch.id'],
    );
    expect(claim).toMatchObject({ traceId, attributes: { 'run.id': attributes['run.id'] } });

    // The receiver of the notification gets the trace, and so does who reads the invoice or the run.
    expect(webhook.traceparents.get('timer-1')).toBe(`00-${traceId}-${notification.spanId}-01`);
    const shown = await (await fetch(`${paying.address}/api/ops/invoices/timer-1`)).json();
    expect(shown).toMatchObject({
      timeline: expect.arrayContaining([
        expect.objectContaining({ what: 'claimed', traceparent: `00-${traceId}-${claim?.spanId}-01` }),
      ]),
    });
    const run = await fetch(`${paying.address}/api/ops/runs/${String(attributes['run.id'])}`);
    expect(await run.json()).toMatchObject({ traceId });

    // Checks the promises of the docs about the attributes, and about the alerts: the host alone reports
    // requests.
    const text = traceTree(traces.spans, traceId);
    expect(text).not.toMatch(new RegExp(`cus-|${amountMinor}|pm_card`));
    expect(traces.spans.filter(({ kind }) => ![1, 4].includes(kind))).toEqual([]);
  });

  test('of a manual run belongs to the trace of the HTTP call, and what is unpaid is kept at a share of 0', async () => {
    await using host = await startHost('manual', { TRACE_SAMPLE: '0' });
    await post(host, 'invoices', [invoice('manual-1'), invoice('manual-2', 'pm_card_chargeDeclined')]);
    const traceId = 'abcdefabcdefabcdefabcdefabcdef01';
    const headers = { traceparent: `00-${traceId}-1234567890abcdef-00`, 'idempotency-key': 'manual' };
    const started = await post(host, 'runs', { job: 'process-invoices' }, headers);
    expect(started.status).toBe(202);
    await until(
      async () => [...webhook.traceparents.keys()],
      (ids) => ids.includes('manual-1'),
    );
    await arrived(['pay invoice', 'manual-2']);
    const settled = () =>
      traces.spans.filter((one) => one.name === 'settle batch' && one.traceId === traceId);
    await until(
      async () => settled().length,
      (count) => count > 0,
    );
    const [declined] = named('pay invoice', 'manual-2');
    expect(declined).toMatchObject({ traceId, failed: 'retry:declined' });
    expect(declined && lineage(declined)).toEqual([
      'start run',
      'run group',
      'claim batch',
      'pay batch',
      'pay invoice',
    ]);
    // It was paid, so at a share of 0 its own spans are not exported; those of its batch are.
    expect(named('pay invoice', 'manual-1')).toEqual([]);
    expect(webhook.traceparents.get('manual-1')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  });

  test('leaves no mark where tracing is off', async () => {
    await using host = await startHost('off', { TRACE_SAMPLE: 'off', INVOICE_SCHEDULE: '*/2 * * * * *' });
    await post(host, 'invoices', [invoice('off-1')]);
    await until(
      async () => [...webhook.traceparents.keys()],
      (ids) => ids.includes('off-1'),
    );
    expect(webhook.traceparents.get('off-1')).toBeUndefined();
    expect(await (await fetch(`${host.address}/api/ops/invoices/off-1`)).text()).not.toContain('traceparent');
  });
});
