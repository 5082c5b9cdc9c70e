import type { Attributes } from '@payonce/leases/telemetry';

/**
 * Reports work as spans of a trace. As in OpenTelemetry, the tracer is registered once for the process and the active span follows
 * the asynchronous calls, so no signature carries it. Without a tracer all of this does nothing.
 *
 * Across processes a trace travels as a `traceparent` (https://www.w3.org/TR/trace-context/): in outbox messages, on the
 * messages of queues, in the records of runs and in documents. Readers treat it as optional.
 */

/** The beginning of a span. No secrets and no customer data: ids of documents, batches and runs may be in attributes. */
export interface SpanStart {
  /** `producer`: it sends a message. Default: work in this process. */
  kind?: 'producer';
  attributes?: Attributes;
  /** The traceparent to go on with, from a message or a record. Default: the active span. */
  parent?: string | undefined;
}

/** The end of a span, as the result of its work says. */
export interface SpanEnd {
  attributes?: Attributes;
  /** Marks it as failed, by a word from the code, never with a text from outside. */
  failed?: string | undefined;
}

/** Asked once the work of a span is done. A rejection marks the span as failed without it. */
export type Conclude<T> = (result: T) => SpanEnd;

export interface Tracer {
  /** Does work in a span. What comes back is what the work returns. */
  span<T>(name: string, start: SpanStart, work: () => Promise<T>, conclude?: Conclude<T>): Promise<T>;
  /** The active span; undefined if there is none. */
  active(): { readonly traceparent: string; set(attributes: Attributes): void } | undefined;
  /** The same function, which then runs as part of the trace of this traceparent. */
  continued<Fn extends (...args: never[]) => unknown>(traceparent: string, fn: Fn): Fn;
}

const noTracer: Tracer = {
  span: (_name, _start, work) => work(),
  active: () => undefined,
  continued: (_traceparent, fn) => fn,
};

let registered = noTracer;

/** Registers the tracer of this process. The result takes it away. */
export function registerTracer(tracer: Tracer): () => void {
  registered = tracer;
  return () => {
    if (registered === tracer) registered = noTracer;
  };
}

/** Does work in a span. */
export function inSpan<T>(
  name: string,
  start: SpanStart,
  work: () => Promise<T>,
  conclude?: Conclude<T>,
): Promise<T> {
  return registered.span(name, start, work, conclude);
}

/** Adds attributes to the active span. */
export function noteInSpan(attributes: Attributes): void {
  registered.active()?.set(attributes);
}

/** Returns `{ traceparent }` to store, so that later work goes on with the active trace; `{}` if there is none. */
export function activeTrace(): { readonly traceparent?: string } {
  const active = registered.active();
  return active === undefined ? {} : { traceparent: active.traceparent };
}

/** The same function, as part of a trace that began elsewhere. */
export function inTrace<Fn extends (...args: never[]) => unknown>(
  traceparent: string | undefined,
  fn: Fn,
): Fn {
  return traceparent === undefined ? fn : registered.continued(traceparent, fn);
}

/** The traceparent among the properties of such a message, if it can be read. Functions get names with a small first letter. */
export function traceparentIn(properties: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const given = properties?.traceparent ?? properties?.['Diagnostic-Id'] ?? properties?.['diagnostic-Id'];
  return typeof given === 'string' && parseTraceparent(given) !== undefined ? given : undefined;
}

/** The ids that a traceparent carries (https://www.w3.org/TR/trace-context/#traceparent-header). */
export interface TraceIds {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Undefined for anything else: what is unreadable starts a new trace, and is never an error. */
export function parseTraceparent(given: unknown): TraceIds | undefined {
  const [, traceId, spanId, flags] = typeof given === 'string' ? (form.exec(given) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceIds): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** The id of the trace that a stored traceparent belongs to: what people search for. */
export function traceIdOf(traceparent: unknown): string | undefined {
  return parseTraceparent(traceparent)?.traceId;
}

/**
 * Returns the properties that carry a trace on a message of Service Bus; none for what is not a traceparent. The clients of
 * Azure write `Diagnostic-Id`, and the Functions host goes on with it; newer ones write `traceparent`, too
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-end-to-end-tracing).
 */
export function traceProperties(traceparent: unknown): Record<string, string> {
  const known = typeof traceparent === 'string' && parseTraceparent(traceparent) !== undefined;
  return known ? { 'Diagnostic-Id': traceparent, traceparent } : {};
}
