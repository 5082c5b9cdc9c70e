import { z } from 'zod';
import type { TraceSettings } from '../platform/connections.ts';
import { isHttps, isLoopbackHttp } from './addresses.ts';
import type { Env } from './environment.ts';
import { expected, reportTo } from './findings.ts';

/** A tenth: enough to look at, and cheap (docs/tracing.md). */
const defaultSample = 0.1;

/**
 * `TRACE_SAMPLE`, a share from 0 to 1 or `off`, and `OTEL_EXPORTER_OTLP_ENDPOINT`, as the Functions host reads it
 * (https://learn.microsoft.com/azure/azure-functions/opentelemetry-howto). Undefined if it is off.
 */
export const traceSettings = z.custom<Env>().transform((env, context): TraceSettings | undefined => {
  const report = reportTo(context);
  const given = env.TRACE_SAMPLE?.trim() ?? `${defaultSample}`;
  const sample = /^(0?\.\d{1,6}|[01](\.0{1,6})?)$/.test(given) ? Number(given) : undefined;
  if (sample === undefined && given !== 'off') {
    report('TRACE_SAMPLE', expected('a share from 0 to 1, such as 0.1, or off', given));
  }
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim();
  if (endpoint !== undefined && !isHttps(endpoint) && !isLoopbackHttp(endpoint)) {
    const what = 'an https address (http only for this machine)';
    report('OTEL_EXPORTER_OTLP_ENDPOINT', expected(what, endpoint));
  }
  return sample === undefined ? undefined : { sample, otlpEndpoint: endpoint?.replace(/\/+$/, '') };
});
