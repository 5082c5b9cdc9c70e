/**
 * Which spans are exported:
 *
 *   spans of runs, groups, batches and messages (a tenth of a span for each invoice): all
 *   spans of one invoice or one work item:                                           a share, and every one that has failed
 *
 * So each trace is whole down to its batches, and no failure is missing. The ids of trace and invoice decide, so the payment,
 * receipt and notification of an invoice are exported together or not at all, in whichever processes. The Functions host does
 * not: it marks nearly everything as not sampled.
 */
import type { Attributes, Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** The attributes that name the one thing that a span is about. */
const oneOfMany = ['invoice.id', 'work_item.resource'] as const;

/** `SpanStatusCode.ERROR` of the API. */
const failed = 2;

/** Hashes the ids of a trace and of one thing in it, to a number from 0 to below 1: FNV-1a, the same in every process. Pure. */
export function shareOf(traceId: string, id: string): number {
  let hash = 0x811c9dc5;
  for (const char of `${traceId}/${id}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  }
  // The last characters would hardly reach the upper bits.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** True if something gets a span even if it does not fail. Pure. */
export function isSampled(traceId: string, attributes: Attributes, ratio: number): boolean {
  const id = oneOfMany.map((name) => attributes[name]).find((one) => typeof one === 'string');
  return id === undefined || shareOf(traceId, id) < ratio;
}

/**
 * Says of a sampled detail for how many it stands: Application Insights multiplies by `_MS.sampleRate`. One that has failed,
 * and one that began a trace, stand for themselves.
 */
export function withRate(next: SpanProcessor, ratio: number): SpanProcessor {
  return {
    onStart: (span: Span, parent: Context) => next.onStart(span, parent),
    onEnd(span) {
      const isSample = span.status.code !== failed && span.parentSpanContext !== undefined && isDetail(span);
      next.onEnd(isSample && ratio < 1 ? ratedView(span, ratio) : span);
    },
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}

function isDetail({ attributes }: ReadableSpan): boolean {
  return oneOfMany.some((name) => name in attributes);
}

function ratedView(span: ReadableSpan, ratio: number): ReadableSpan {
  const attributes = { ...span.attributes, '_MS.sampleRate': ratio * 100 };
  return Object.create(span, { attributes: { value: attributes } }) as ReadableSpan;
}
