/** A way to reach a service: by connection string, or as the app's identity. */
export type StorageConnection =
  | { readonly kind: 'connectionString'; readonly value: string }
  | { readonly kind: 'identity'; readonly blobEndpoint: string; readonly queueEndpoint: string };
export type CosmosConnection =
  | { readonly kind: 'connectionString'; readonly value: string }
  | { readonly kind: 'identity'; readonly endpoint: string };
export type ServiceBusConnection =
  | { readonly kind: 'connectionString'; readonly value: string }
  | { readonly kind: 'identity'; readonly namespace: string };

/** Everything the Azure clients need. */
export interface Connections {
  readonly storage: StorageConnection;
  readonly cosmos: CosmosConnection;
  readonly serviceBus: ServiceBusConnection;
  /** The client id of a user-assigned identity. Undefined: the system-assigned one. */
  readonly clientId: string | undefined;
}

/** Connection to Application Insights for metrics and traces: by the connection string's key, or as the app's identity too. */
export interface TelemetryConnection {
  readonly connectionString: string;
  /** Undefined: the key alone. `clientId` is that of a user-assigned identity. */
  readonly identity: { readonly clientId: string | undefined } | undefined;
}

/** Which spans are exported, and where to besides Application Insights. */
export interface TraceSettings {
  /** The share of the spans of single invoices and work items, from 0 to 1. Failed ones are all exported. */
  readonly sample: number;
  /** Base address of an OTLP receiver (HTTP), without a trailing slash. Undefined: none. */
  readonly otlpEndpoint: string | undefined;
}
