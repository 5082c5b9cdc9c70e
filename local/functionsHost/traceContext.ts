import { randomBytes } from 'node:crypto';
import { parseTraceparent } from '../../src/platform/tracing.ts';

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
  const traceId = parseTraceparent(carried)?.traceId ?? randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceParent: `00-${traceId}-${spanId}-00`, traceState: '', attributes: {} };
}
