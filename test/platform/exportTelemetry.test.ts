import { gunzipSync } from 'node:zlib';
import { context, metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { activeTrace, inSpan, inTrace } from '../../packages/jobs/src/tracing.ts';
import { partMetric } from '../../packages/leases/src/telemetry.ts';
import { appTelemetry } from '../../src/platform/appMetrics.ts';
import { exportMetrics, exportTelemetry } from '../../src/platform/exportTelemetry.ts';

afterEach(() => {
  metrics.disable();
  vi.unstubAllEnvs();
});

test('counts and records reach the exporter under the names in the code', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const exported: MetricData[] = [];
  vi.spyOn(exporter, 'export').mockImplementation((batch, done) => {
    expect(batch.resource.attributes).toMatchObject({
      'service.name': 'payonce',
      'service.instance.id': 'host-1',
    });
    exported.push(...batch.scopeMetrics.flatMap((scope) => scope.metrics));
    done({ code: 0 });
  });
  const stop = await exportMetrics(exporter, 'host-1');
  const telemetry = appTelemetry();
  telemetry.count(partMetric.leaseLost, { job: 'process-invoices' });
  telemetry.count(partMetric.leaseLost, { job: 'process-invoices' }, 2);
  telemetry.record(partMetric.runMs, 40, { job: 'process-invoices' });
  telemetry.record(partMetric.runMs, 60, { job: 'process-invoices' });
  await stop();

  const points = new Map(exported.map((data) => [data.descriptor.name, data]));
  expect(points.get('payonce.lease.lost')).toMatchObject({
    dataPointType: DataPointType.SUM,
    dataPoints: [{ attributes: { job: 'process-invoices' }, value: 3 }],
  });
  expect(points.get('payonce.run.ms')).toMatchObject({
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: [{ value: { count: 2, sum: 100, min: 40, max: 60 } }],
  });
});

test('Application Insights receives custom metrics with their attributes', async () => {
  vi.stubEnv('APPLICATION_INSIGHTS_NO_STATSBEAT', 'true');
  const ingestion = fakeIngestion();
  const connectionString =
    'InstrumentationKey=11111111-2222-3333-4444-555555555555;IngestionEndpoint=https://ingestion.invalid/';
  const stop = await exportTelemetry(
    { telemetry: { connectionString, identity: undefined }, traces: undefined, instance: 'host-1' },
    ingestion,
  );
  const telemetry = appTelemetry();
  telemetry.count(partMetric.leaseLost, { job: 'process-invoices', reason: 'expired' });
  telemetry.record(partMetric.outboxOldestMs, 70_000);
  await stop();

  expect(ingestion.addresses).toEqual(['https://ingestion.invalid/v2.1/track']);
  expect(ingestion.received).toEqual([
    expect.objectContaining({
      metrics: [expect.objectContaining({ name: 'payonce.lease.lost', value: 1 })],
      properties: expect.objectContaining({ job: 'process-invoices', reason: 'expired' }),
    }),
    expect.objectContaining({
      metrics: [expect.objectContaining({ name: 'payonce.outbox.oldest_ms', max: 70_000, count: 1 })],
    }),
  ]);
});

test('Application Insights receives spans as dependencies: the host alone reports requests', async () => {
  vi.stubEnv('APPLICATION_INSIGHTS_NO_STATSBEAT', 'true');
  const ingestion = fakeIngestion();
  const connectionString =
    'InstrumentationKey=11111111-2222-3333-4444-555555555555;IngestionEndpoint=https://ingestion.invalid/';
  const stop = await exportTelemetry(
    {
      telemetry: { connectionString, identity: undefined },
      traces: { sample: 1, otlpEndpoint: undefined },
      instance: 'host-1',
    },
    ingestion,
  );
  onTestFinished(() => context.disable());
  const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const host = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await inTrace(host, () =>
    inSpan(
      'pay invoice',
      { parent, attributes: { 'invoice.id': 'inv-1' } },
      async () => {},
      () => ({ failed: 'declined' }),
    ),
  )();
  await stop();

  // The first says which process the spans come from.
  expect(ingestion.received.at(-1)).toMatchObject({
    name: 'pay invoice',
    type: 'InProc',
    success: false,
    properties: {
      'invoice.id': 'inv-1',
      '_MS.links': expect.stringContaining('0af7651916cd43dd8448eb211c80319c'),
    },
  });
});

test('without a connection no provider is registered', async () => {
  const before = metrics.getMeterProvider();
  const stop = await exportTelemetry({
    telemetry: undefined,
    traces: { sample: 1, otlpEndpoint: undefined },
    instance: 'host-1',
  });
  expect(metrics.getMeterProvider()).toBe(before);
  expect(await inSpan('work', {}, async () => activeTrace())).toEqual({});
  await expect(stop()).resolves.toBeUndefined();
});

/** A stand-in for the network to Application Insights. It keeps what was sent. */
function fakeIngestion() {
  const received: unknown[] = [];
  const addresses: string[] = [];
  const httpClient: NonNullable<Transport['httpClient']> = {
    async sendRequest(request) {
      const body = request.body;
      const text = typeof body === 'string' ? body : gunzipSync(Buffer.from(body as Uint8Array)).toString();
      const envelopes = envelopeList.parse(JSON.parse(text));
      received.push(...envelopes.map(({ data }) => data.baseData));
      addresses.push(request.url.split('?')[0] ?? '');
      const accepted = { itemsReceived: envelopes.length, itemsAccepted: envelopes.length, errors: [] };
      return { request, status: 200, headers: request.headers, bodyAsText: JSON.stringify(accepted) };
    },
  };
  return { httpClient, received, addresses };
}

type Transport = NonNullable<Parameters<typeof exportTelemetry>[1]>;
const envelopeList = z.array(z.looseObject({ data: z.looseObject({ baseData: z.unknown() }) }));
