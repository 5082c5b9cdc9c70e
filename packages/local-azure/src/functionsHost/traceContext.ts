import { randomBytes } from 'node:crypto';

/** Where an invocation belongs in a trace, as the worker gets it. */
export interface TraceContext {
  traceParent: string;
  traceState: string;
  attributes: Record<string, string>;
}

/**
 * The span of a new invocation: in the trace that its trigger carries (a traceparent), or in one of its own. As on the real
 * host; but this one exports no spans, so they are marked as not sampled.
 */
export function newTraceContext(carried: unknown): TraceContext {
  const known = typeof carried === 'string' ? traceparentForm.exec(carried) : null;
  const traceId = known?.[1] ?? randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceParent: `00-${traceId}-${spanId}-00`, traceState: '', attributes: {} };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
const traceparentForm =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;
