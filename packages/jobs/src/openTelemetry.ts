import {
  context,
  createContextKey,
  type Link,
  type Tracer as OpenTelemetryTracer,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { Attributes } from '@payonce/leases/telemetry';
import type { Conclude, SpanEnd, Tracer } from './tracing.ts';
import { formatTraceparent, parseTraceparent } from './tracing.ts';

export { openTelemetryMetrics } from './openTelemetryMetrics.ts';
export { registerTracer } from './tracing.ts';

/** Notes about work that has no span, in case it fails. */
interface Notes {
  /** The span that is active instead: whatever is noted while another one is active belongs to that one. */
  place: Span;
  attributes: Attributes;
}

const notesKey = createContextKey('payonce notes');

/** True if work in a trace gets a span, by the id of the trace and the attributes that the span would begin with. */
export type WantsSpan = (traceId: string, attributes: Attributes) => boolean;

/**
 * Reports spans to a tracer of OpenTelemetry, which needs a context manager. Work that `wants` declines has no span: what it
 * does belongs to the span around it. If it fails, it gets one after all, made late: a sampler could only keep failures by
 * recording everything (docs/decisions/tracing.md). `wants` is not asked about the first span of a trace.
 */
export function openTelemetryTracer(tracer: OpenTelemetryTracer, wants: WantsSpan = () => true): Tracer {
  return {
    span(name, { kind, attributes = {}, parent }, work, conclude) {
      const { within, around, host } = placeOf(parent);
      const begin = (known: Attributes, startTime?: number) => {
        const options = {
          kind: kind === 'producer' ? SpanKind.PRODUCER : SpanKind.INTERNAL,
          attributes: known,
          links: host.map((one): Link => ({ context: one })),
          ...(startTime === undefined ? {} : { startTime }),
        };
        return tracer.startSpan(name, options, within);
      };
      if (around === undefined || wants(around.traceId, attributes)) {
        const span = begin(attributes);
        const result = context.with(trace.setSpan(within, span), work);
        return untilOver(result, conclude, (end) => finish(span, end));
      }
      const unsampled = trace.wrapSpanContext({ ...around, isRemote: false, traceFlags: TraceFlags.NONE });
      const notes: Notes = { place: unsampled, attributes: { ...attributes } };
      const place = trace.setSpan(within, unsampled).setValue(notesKey, notes);
      const startTime = Date.now();
      return untilOver(context.with(place, work), conclude, (end) => {
        if (end.failed === undefined) return;
        // https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/
        finish(begin({ ...notes.attributes, 'error.type': end.failed }, startTime), end);
      });
    },
    active() {
      const span = trace.getSpan(context.active());
      if (span === undefined) return undefined;
      const notes = context.active().getValue(notesKey) as Notes | undefined;
      const { traceId, spanId, traceFlags } = span.spanContext();
      const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
      return {
        traceparent: formatTraceparent({ traceId, spanId, sampled }),
        set(added) {
          if (notes?.place === span) Object.assign(notes.attributes, added);
          else span.setAttributes(added);
        },
      };
    },
    continued(traceparent, fn) {
      const from = remote(traceparent);
      return from === undefined ? fn : context.bind(trace.setSpanContext(context.active(), from), fn);
    },
  };
}

/**
 * Where a span belongs: work that carries a trace goes on with that and links to the Functions host's own span, so that a trace
 * is whole whatever the host exports.
 */
function placeOf(parent: string | undefined) {
  const within = context.active();
  const around = trace.getSpanContext(within);
  const from = remote(parent);
  if (from === undefined) return { within, around, host: [] };
  const host = around?.isRemote === true ? [around] : [];
  return { within: trace.setSpanContext(within, from), around: from, host };
}

function remote(traceparent: string | undefined): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  if (parsed === undefined) return undefined;
  const { sampled, ...ids } = parsed;
  return { ...ids, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** Calls `over` once with what came of the work. */
async function untilOver<T>(
  work: Promise<T>,
  conclude: Conclude<T> | undefined,
  over: (end: SpanEnd) => void,
): Promise<T> {
  let end: SpanEnd = {};
  try {
    const result = await work;
    end = conclude?.(result) ?? {};
    return result;
  } catch (error) {
    // The name only: messages of errors may repeat what a caller or a provider sent.
    end = { failed: error instanceof Error ? error.name : 'unknown' };
    throw error;
  } finally {
    over(end);
  }
}

function finish(span: Span, { attributes, failed }: SpanEnd): void {
  if (attributes !== undefined) span.setAttributes(attributes);
  if (failed !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
  span.end();
}
