import { context } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { openTelemetryTracer } from './openTelemetry.ts';
import { isSampled, withRate } from './spanSampling.ts';
import { registerTracer } from './tracing.ts';

/**
 * Spans that wait for their export. A run that pays a thousand invoices a second and exports everything makes three thousand
 * spans a second; what does not fit is dropped.
 */
const mostWaiting = 16_384;
const exportedAtOnce = 512;
/** Milliseconds between two exports. */
const exportIntervalMs = 5_000;
/** How long one export may take, in milliseconds. */
const exportTimeoutMs = 10_000;

/**
 * Registers a tracer that hands the spans of this process to `exporters`. `sample`: the share of the spans of single invoices
 * that is exported (spanSampling.ts). The result sends what is left, and ends the export.
 */
export async function exportTraces(
  exporters: readonly SpanExporter[],
  { sample, instance }: { sample: number; instance: string },
): Promise<() => Promise<void>> {
  const [
    { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor },
    { AsyncLocalStorageContextManager },
    resources,
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/resources'),
  ]);
  const batched = (exporter: SpanExporter) =>
    new BatchSpanProcessor(exporter, {
      maxQueueSize: mostWaiting,
      maxExportBatchSize: exportedAtOnce,
      scheduledDelayMillis: exportIntervalMs,
      exportTimeoutMillis: exportTimeoutMs,
    });
  const provider = new BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': 'payonce',
      'service.instance.id': instance,
    }),
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
