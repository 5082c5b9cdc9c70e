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
