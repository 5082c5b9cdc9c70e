import {
  type Context,
  context,
  type Link,
  type Meter,
  type Tracer as OpenTelemetryTracer,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { Telemetry } from './telemetry.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';
import type { Conclude, Tracer } from './tracing.ts';

export { registerTracer } from './tracing.ts';

/**
 * Reports to a meter of OpenTelemetry. `prefix` goes before every name: with `shop.`, `lease.lost` becomes
 * `shop.lease.lost`. Get the meter after the provider is registered: an earlier one discards everything.
 */
export function openTelemetryMetrics(meter: Meter, prefix = ''): Telemetry {
  const counters = new Map<string, ReturnType<Meter['createCounter']>>();
  const histograms = new Map<string, ReturnType<Meter['createHistogram']>>();
  return {
    count(name, attributes, by = 1) {
      const counter = counters.get(name) ?? meter.createCounter(`${prefix}${name}`);
      counters.set(name, counter);
      counter.add(by, attributes);
    },
    record(name, value, attributes) {
      const histogram = histograms.get(name) ?? meter.createHistogram(`${prefix}${name}`);
      histograms.set(name, histogram);
      histogram.record(value, attributes);
    },
  };
}

/**
 * Reports spans to a tracer of OpenTelemetry: `registerTracer(openTelemetryTracer(trace.getTracer('shop')))`. The process
 * needs a context manager of OpenTelemetry, or no span knows its parent.
 */
export function openTelemetryTracer(tracer: OpenTelemetryTracer): Tracer {
  return {
    span(name, { kind, attributes = {}, parent, links = [] }, work, conclude) {
      const { within, host } = placeOf(parent);
      const others = [...links.flatMap((one) => remote(one) ?? []), ...host];
      const span = tracer.startSpan(
        name,
        {
          kind: kind === 'producer' ? SpanKind.PRODUCER : SpanKind.INTERNAL,
          attributes,
          links: others.map((one): Link => ({ context: one })),
        },
        within,
      );
      return untilOver(span, context.with(trace.setSpan(within, span), work), conclude);
    },
    active() {
      const span = trace.getSpan(context.active());
      if (span === undefined) return undefined;
      return {
        traceparent: traceparentOf(span.spanContext()),
        set: (added) => void span.setAttributes(added),
      };
    },
    continued(traceparent, fn) {
      const from = remote(traceparent);
      return from === undefined ? fn : context.bind(trace.setSpanContext(context.active(), from), fn);
    },
  };
}

/**
 * Where a span belongs. The Functions host has a span of each invocation, which is active when the work begins. Work that
 * carries a trace goes on with that and links to the host's span: so a trace is whole even if the host has begun one of its
 * own, or exports few of its spans.
 */
function placeOf(parent: string | undefined): { within: Context; host: SpanContext[] } {
  const active = context.active();
  const from = parent === undefined ? undefined : remote(parent);
  if (from === undefined) return { within: active, host: [] };
  const around = trace.getSpanContext(active);
  return { within: trace.setSpanContext(active, from), host: around?.isRemote === true ? [around] : [] };
}

function remote(traceparent: string): SpanContext | undefined {
  const ids = parseTraceparent(traceparent);
  if (ids === undefined) return undefined;
  const { traceId, spanId, sampled } = ids;
  return {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  };
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return formatTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });
}

async function untilOver<T>(span: Span, work: Promise<T>, conclude: Conclude<T> | undefined): Promise<T> {
  try {
    const result = await work;
    const { attributes, failed } = conclude?.(result) ?? {};
    if (attributes !== undefined) span.setAttributes(attributes);
    if (failed !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
    return result;
  } catch (error) {
    // The name only: messages of errors may repeat what a caller or a provider sent.
    const message = error instanceof Error ? error.name : 'unknown';
    span.setStatus({ code: SpanStatusCode.ERROR, message });
    throw error;
  } finally {
    span.end();
  }
}
