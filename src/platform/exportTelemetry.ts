import type { AzureMonitorExporterOptions } from '@azure/monitor-opentelemetry-exporter';
import { metrics } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { TelemetryConnection } from './connections.ts';

/** Sends the remaining metrics and stops the export. */
export type StopTelemetry = () => Promise<void>;

/** Milliseconds between two exports. Alerts look every five minutes. */
const exportIntervalMs = 60_000;
/** How long the last export may take, in milliseconds. The shutdown waits less (stopping.ts). */
const lastExportMs = 2_000;

/**
 * Sends the app's metrics to Application Insights (table `customMetrics`). Without a connection it sends nothing and
 * skips loading the exporter (0.3 s). Call it before the app asks for its meter: until a provider is registered,
 * OpenTelemetry hands out meters that discard everything. The Functions host sends requests, traces and exceptions.
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
    // An instance's disk goes away with it, so a metric that cannot be sent is not worth a file.
    disableOfflineStorage: true,
    ...transport,
  });
  return exportMetrics(exporter, instance);
}

/** Registers a provider that hands the process's metrics to `exporter` once a minute and on stop. */
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
