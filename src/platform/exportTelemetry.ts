import type { AzureMonitorExporterOptions } from '@azure/monitor-opentelemetry-exporter';
import { context, metrics } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { openTelemetryTracer } from '@payonce/jobs/open-telemetry';
import { registerTracer } from '@payonce/jobs/tracing';
import { credentialOf } from './azureClients.ts';
import { installed } from './clientMissing.ts';
import type { TelemetryConnection, TraceSettings } from './connections.ts';
import { isSampled, withRate } from './spanSampling.ts';

const otlpSetting = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** Sends the remaining metrics and spans, and stops the export. Never rejects. */
export type StopTelemetry = () => Promise<void>;

/** Milliseconds between two exports. Alerts look every five minutes. */
const exportIntervalMs = 60_000;
/** Time limit of the last export (ms). The shutdown waits less (stopping.ts). */
const lastExportMs = 2_000;

/** Where telemetry goes. */
export interface TelemetryTarget {
  /** Application Insights. Undefined: none. */
  telemetry: TelemetryConnection | undefined;
  /** Undefined: no traces. */
  traces: TraceSettings | undefined;
  /** Name of the process. */
  instance: string;
}

/**
 * Sends the app's metrics to Application Insights (table `customMetrics`), and its traces there (table `dependencies`) and to
 * an OTLP endpoint; with neither it loads no exporters (0.3 s). The Functions host sends requests, logs and exceptions. Call it
 * before the app asks for its meter: OpenTelemetry's meters discard everything until a provider is registered.
 *
 * @throws {ClientMissing} an OTLP endpoint is set and the package for it is not installed
 */
export async function exportTelemetry(
  { telemetry, traces, instance }: TelemetryTarget,
  transport: Pick<AzureMonitorExporterOptions, 'httpClient'> = {},
): Promise<StopTelemetry> {
  const azure = telemetry && (await azureExporters(telemetry, transport));
  const stopMetrics = azure && (await exportMetrics(azure.metrics(), instance));
  const otlp = traces?.otlpEndpoint === undefined ? [] : [await otlpExporter(traces.otlpEndpoint)];
  const exporters = [...(azure === undefined ? [] : [azure.traces()]), ...otlp];
  const stopTraces =
    traces === undefined || exporters.length === 0
      ? undefined
      : await exportTraces(exporters, { sample: traces.sample, instance });
  // Side by side: spans, which matter less, do not delay the metrics.
  return async () => void (await Promise.allSettled([stopMetrics?.(), stopTraces?.()]));
}

async function azureExporters(
  connection: TelemetryConnection,
  transport: Pick<AzureMonitorExporterOptions, 'httpClient'>,
) {
  const { connectionString, identity } = connection;
  const { AzureMonitorMetricExporter } = await import('@azure/monitor-opentelemetry-exporter');
  const { AzureMonitorTraceExporter } = await import('@azure/monitor-opentelemetry-exporter');
  const options = {
    connectionString,
    ...(identity === undefined ? {} : { credential: credentialOf(identity.clientId) }),
    // An instance's disk goes away with it, so what cannot be sent is not worth a file.
    disableOfflineStorage: true,
    ...transport,
  };
  return {
    metrics: () => new AzureMonitorMetricExporter(options),
    traces: () => new AzureMonitorTraceExporter(options),
  };
}

/** The exporter of the package that is installed only where it is used; it reads `OTEL_EXPORTER_OTLP_HEADERS` itself. */
async function otlpExporter(endpoint: string): Promise<SpanExporter> {
  const load = () => import('@opentelemetry/exporter-trace-otlp-http');
  const { OTLPTraceExporter } = await installed('@opentelemetry/exporter-trace-otlp-http', load, otlpSetting);
  return new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
}

/** Registers a provider that hands the process's metrics to `exporter` once a minute and on stop. */
export async function exportMetrics(exporter: PushMetricExporter, instance: string): Promise<StopTelemetry> {
  const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.name': 'payonce', 'service.instance.id': instance }),
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: exportIntervalMs })],
  });
  metrics.setGlobalMeterProvider(provider);
  return () => provider.shutdown({ timeoutMillis: lastExportMs });
}

/**
 * Spans that wait for their export. A run that pays a thousand invoices a second and exports everything makes three thousand
 * spans a second; what does not fit is dropped.
 */
const mostWaiting = 16_384;
const exportedAtOnce = 512;
/** Milliseconds between two exports. */
const spansIntervalMs = 5_000;
/** Time limit of one export (ms). */
const exportTimeoutMs = 10_000;

/**
 * Registers a tracer that hands the spans of this process to `exporters`. `sample`: the share of the spans of single invoices
 * that is exported (spanSampling.ts). The result sends what is left, and ends the export.
 */
export async function exportTraces(
  exporters: readonly SpanExporter[],
  { sample, instance }: { sample: number; instance: string },
): Promise<StopTelemetry> {
  const { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } =
    await import('@opentelemetry/sdk-trace-base');
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const batched = (exporter: SpanExporter) =>
    new BatchSpanProcessor(exporter, {
      maxQueueSize: mostWaiting,
      maxExportBatchSize: exportedAtOnce,
      scheduledDelayMillis: spansIntervalMs,
      exportTimeoutMillis: exportTimeoutMs,
    });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'payonce', 'service.instance.id': instance }),
    // Not that of the host: it marks nearly everything as not sampled.
    sampler: new AlwaysOnSampler(),
    spanProcessors: exporters.map((exporter) => withRate(batched(exporter), sample)),
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const unregister = registerTracer(
    openTelemetryTracer(provider.getTracer('payonce'), (traceId, attributes) =>
      isSampled(traceId, attributes, sample),
    ),
  );
  return async () => {
    await provider.shutdown();
    unregister();
  };
}
