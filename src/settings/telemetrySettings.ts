import { z } from 'zod';
import type { TelemetryConnection, TraceSettings } from '../platform/connections.ts';
import { isHttps, isLoopbackHttp, partsOf } from './addresses.ts';
import type { Env } from './environment.ts';
import { expected, reportTo } from './findings.ts';

/**
 * `APPLICATIONINSIGHTS_CONNECTION_STRING`, and `APPLICATIONINSIGHTS_AUTHENTICATION_STRING` (`Authorization=AAD`, with
 * `ClientId=…` for a user-assigned identity), as the Functions host reads them
 * (https://learn.microsoft.com/azure/azure-functions/functions-app-settings#applicationinsights_authentication_string).
 * Undefined without a connection string: metrics and traces then go nowhere.
 */
export const telemetryConnection = z
  .custom<Env>()
  .transform((env, context): TelemetryConnection | undefined => {
    const report = reportTo(context);
    const connectionString = env.APPLICATIONINSIGHTS_CONNECTION_STRING?.trim();
    if (connectionString === undefined) return undefined;
    if (!partsOf(connectionString).has('instrumentationkey')) {
      report(
        'APPLICATIONINSIGHTS_CONNECTION_STRING',
        'expected an Application Insights connection string with InstrumentationKey',
      );
    }
    const authentication = env.APPLICATIONINSIGHTS_AUTHENTICATION_STRING;
    if (authentication === undefined) return { connectionString, identity: undefined };
    const parts = partsOf(authentication);
    if (parts.get('authorization')?.toUpperCase() !== 'AAD') {
      report(
        'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
        expected('Authorization=AAD, with ClientId=… for a user-assigned identity', authentication),
      );
    }
    return { connectionString, identity: { clientId: parts.get('clientid') } };
  });

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
