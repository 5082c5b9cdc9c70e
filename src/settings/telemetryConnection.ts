import { z } from 'zod';
import type { TelemetryConnection } from '../platform/connections.ts';
import { partsOf } from './connectionString.ts';
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
