import { context } from '@opentelemetry/api';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { exportTraces } from '../../src/platform/exportTelemetry.ts';

/** Registers a tracer for this process. `finish` ends that, and returns what would have been exported. */
export async function recordSpans({ sample = 1 }: { sample?: number } = {}) {
  const exporter = new InMemorySpanExporter();
  let exported: ReturnType<InMemorySpanExporter['getFinishedSpans']> = [];
  // It forgets everything when it is shut down.
  exporter.shutdown = async () => {
    exported = exporter.getFinishedSpans();
  };
  const stop = await exportTraces([exporter], { sample, instance: 'test' });
  return {
    finish: async () => {
      await stop();
      context.disable();
      return exported.map((span) => ({
        name: span.name,
        kind: span.kind,
        ...span.spanContext(),
        parentSpanId: span.parentSpanContext?.spanId,
        attributes: span.attributes,
        links: span.links.map((link) => link.context.traceId),
        startedAt: millisecondsOf(span.startTime),
        endedAt: millisecondsOf(span.endTime),
        failed: span.status.code === 2 ? span.status.message : undefined,
      }));
    },
  };
}

/** Since 1970. */
function millisecondsOf([seconds, nanoseconds]: readonly [number, number]): number {
  return seconds * 1_000 + nanoseconds / 1e6;
}
