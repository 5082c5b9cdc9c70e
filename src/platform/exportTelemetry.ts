import type { AzureMonitorExporterOptions } from '@azure/monitor-opentelemetry-exporter';
import { metrics } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';

type Env = Readonly<Record<string, string | undefined>>;

/** Sends what is left and ends the export. */
export type StopTelemetry = () => Promise<void>;

/** How often metrics leave the process, in milliseconds: alerts look every five minutes. */
const exportIntervalMs = 60_000;
/** How long a stopping process waits for the last of them, in milliseconds. */
const lastExportMs = 5_000;

/**
 * Sends the app's metrics to Application Insights (table `customMetrics`), where the environment names one; else nowhere,
 * and then nothing of it is loaded (0.3 s). Call it before the app asks for its meter: OpenTelemetry hands out meters
 * that go nowhere until a provider is registered. Requests, traces and exceptions are the Functions host's to send.
 *
 * Reads what the host reads: `APPLICATIONINSIGHTS_CONNECTION_STRING`, and `APPLICATIONINSIGHTS_AUTHENTICATION_STRING`
 * (`Authorization=AAD`, with `ClientId=…` for a user-assigned identity)
 * (https://learn.microsoft.com/azure/azure-functions/functions-app-settings#applicationinsights_authentication_string).
 */
export async function exportTelemetry(
  env: Env,
  instance: string,
  transport: Pick<AzureMonitorExporterOptions, 'httpClient'> = {},
): Promise<StopTelemetry> {
  const connectionString = env.APPLICATIONINSIGHTS_CONNECTION_STRING?.trim();
  if (!connectionString) return async () => {};
  const { AzureMonitorMetricExporter } = await import('@azure/monitor-opentelemetry-exporter');
  const credential = await credentialFrom(env.APPLICATIONINSIGHTS_AUTHENTICATION_STRING);
  const exporter = new AzureMonitorMetricExporter({
    connectionString,
    ...(credential === undefined ? {} : { credential }),
    // Instances come and go with their disks: a metric that cannot be sent is not worth a file.
    disableOfflineStorage: true,
    ...transport,
  });
  return exportMetrics(exporter, instance);
}

/** Registers a provider that hands the process's metrics to `exporter`, once a minute and when it is stopped. */
export async function exportMetrics(exporter: PushMetricExporter, instance: string): Promise<StopTelemetry> {
  const [{ MeterProvider, PeriodicExportingMetricReader }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/resources'),
  ]);
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.name': 'payonce', 'service.instance.id': instance }),
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: exportIntervalMs })],
  });
  metrics.setGlobalMeterProvider(provider);
  return () => provider.shutdown({ timeoutMillis: lastExportMs });
}

async function credentialFrom(authentication: string | undefined) {
  const parts = new Map(
    authentication?.split(';').map((part) => {
      const [name = '', value = ''] = part.split('=');
      return [name.trim().toLowerCase(), value.trim()] as const;
    }),
  );
  if (parts.get('authorization')?.toUpperCase() !== 'AAD') return undefined;
  const { DefaultAzureCredential } = await import('@azure/identity');
  const clientId = parts.get('clientid');
  return new DefaultAzureCredential(clientId === undefined ? {} : { managedIdentityClientId: clientId });
}
