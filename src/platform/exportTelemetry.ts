import type { AzureMonitorExporterOptions } from '@azure/monitor-opentelemetry-exporter';
import { metrics } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { TelemetryConnection } from './connections.ts';

/** Sends what is left and ends the export. */
export type StopTelemetry = () => Promise<void>;

/** How often metrics leave the process, in milliseconds: alerts look every five minutes. */
const exportIntervalMs = 60_000;
/** How long a stopping process waits for the last of them, in milliseconds. */
const lastExportMs = 5_000;

/**
 * Sends the app's metrics to Application Insights (table `customMetrics`), where there is a connection to one; else
 * nowhere, and then nothing of it is loaded (0.3 s). Call it before the app asks for its meter: OpenTelemetry hands out
 * meters that go nowhere until a provider is registered. Requests, traces and exceptions are the Functions host's to send.
 */
export async function exportTelemetry(
  connection: TelemetryConnection | undefined,
  instance: string,
  transport: Pick<AzureMonitorExporterOptions, 'httpClient'> = {},
): Promise<StopTelemetry> {
  if (connection === undefined) return async () => {};
  const { connectionString, identity } = connection;
  const { AzureMonitorMetricExporter } = await import('@azure/monitor-opentelemetry-exporter');
  const credential = identity === undefined ? undefined : await credentialOf(identity.clientId);
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

async function credentialOf(clientId: string | undefined) {
  const { DefaultAzureCredential } = await import('@azure/identity');
  return new DefaultAzureCredential(clientId === undefined ? {} : { managedIdentityClientId: clientId });
}
