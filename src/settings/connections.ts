import { z } from 'zod';

/**
 * How the app reaches a service: by a connection string, or by its own identity. The names are those that the Functions
 * host reads itself, so that triggers and clients share one setting
 * (https://learn.microsoft.com/azure/azure-functions/functions-reference#connections).
 */
export type StorageConnection =
  | { kind: 'connectionString'; value: string }
  | { kind: 'identity'; blobEndpoint: string; queueEndpoint: string };
export type CosmosConnection =
  | { kind: 'connectionString'; value: string }
  | { kind: 'identity'; endpoint: string };
export type ServiceBusConnection =
  | { kind: 'connectionString'; value: string }
  | { kind: 'identity'; namespace: string };

/** How metrics reach Application Insights: by the key in the connection string alone, or also by an identity of the app. */
export interface TelemetryConnection {
  readonly connectionString: string;
  /** Undefined: the key alone. A `clientId` is that of a user-assigned identity. */
  readonly identity: { readonly clientId: string | undefined } | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Adds a finding: the name of the setting and what is wrong with it. */
type Report = (name: string, error: string) => void;

/** `AzureWebJobsStorage`, or `AzureWebJobsStorage__accountName`, or its `__blobServiceUri` and `__queueServiceUri`. */
export const storageConnection = connection<StorageConnection>({
  prefix: 'AzureWebJobsStorage',
  identityNames: ['accountName', 'blobServiceUri', 'queueServiceUri'],
  identityForm: 'AzureWebJobsStorage__accountName (or __blobServiceUri and __queueServiceUri)',
  stringForm:
    'UseDevelopmentStorage=true, or a storage connection string with AccountName and AccountKey or SharedAccessSignature',
  isString: (parts) =>
    parts.get('usedevelopmentstorage') === 'true' ||
    (parts.has('accountname') && parts.has('accountkey')) ||
    (parts.has('blobendpoint') && parts.has('queueendpoint') && parts.has('sharedaccesssignature')),
  fromIdentity(env, report) {
    const name = env.AzureWebJobsStorage__accountName;
    const blob = env.AzureWebJobsStorage__blobServiceUri;
    const queue = env.AzureWebJobsStorage__queueServiceUri;
    if (name !== undefined && !/^[a-z\d]{3,24}$/.test(name)) {
      report('AzureWebJobsStorage__accountName', expected('3 to 24 lower-case letters and digits', name));
      return undefined;
    }
    if (name === undefined && blob === undefined)
      report('AzureWebJobsStorage__blobServiceUri', missing(https));
    if (name === undefined && queue === undefined)
      report('AzureWebJobsStorage__queueServiceUri', missing(https));
    const blobEndpoint = blob ?? `https://${name}.blob.core.windows.net`;
    const queueEndpoint = queue ?? `https://${name}.queue.core.windows.net`;
    if (!isHttps(blobEndpoint)) report('AzureWebJobsStorage__blobServiceUri', expected(https, blobEndpoint));
    if (!isHttps(queueEndpoint))
      report('AzureWebJobsStorage__queueServiceUri', expected(https, queueEndpoint));
    return { kind: 'identity', blobEndpoint, queueEndpoint };
  },
});

/** `Cosmos`, or `Cosmos__accountEndpoint`. */
export const cosmosConnection = connection<CosmosConnection>({
  prefix: 'Cosmos',
  identityNames: ['accountEndpoint'],
  identityForm: 'Cosmos__accountEndpoint',
  stringForm: 'a Cosmos DB connection string with AccountEndpoint and AccountKey',
  isString: (parts) => parts.has('accountendpoint') && parts.has('accountkey'),
  fromIdentity(env, report) {
    const endpoint = env.Cosmos__accountEndpoint ?? '';
    if (!isHttps(endpoint)) report('Cosmos__accountEndpoint', expected(https, endpoint));
    return { kind: 'identity', endpoint };
  },
});

/** `ServiceBus`, or `ServiceBus__fullyQualifiedNamespace`. */
export const serviceBusConnection = connection<ServiceBusConnection>({
  prefix: 'ServiceBus',
  identityNames: ['fullyQualifiedNamespace'],
  identityForm: 'ServiceBus__fullyQualifiedNamespace',
  stringForm:
    'a Service Bus connection string with Endpoint=sb://… and SharedAccessKeyName and SharedAccessKey',
  isString: (parts) =>
    (parts.get('endpoint')?.startsWith('sb://') ?? false) &&
    (parts.has('sharedaccesssignature') ||
      (parts.has('sharedaccesskeyname') && parts.has('sharedaccesskey'))),
  fromIdentity(env, report) {
    const namespace = env.ServiceBus__fullyQualifiedNamespace ?? '';
    if (!/^[a-z\d][a-z\d-]*(\.[a-z\d-]+)+$/i.test(namespace)) {
      report(
        'ServiceBus__fullyQualifiedNamespace',
        expected('a host name like contoso.servicebus.windows.net, without sb:// or a path', namespace),
      );
    }
    return { kind: 'identity', namespace };
  },
});

/**
 * The client id of a user-assigned identity, undefined for the system-assigned one: `AZURE_CLIENT_ID` or the `__clientId`
 * of a connection. The app has one identity for all that it reaches.
 */
export const clientId = z.custom<Env>().transform((env, context) => {
  const report = reportTo(context);
  for (const prefix of ['AzureWebJobsStorage', 'Cosmos', 'ServiceBus']) {
    const credential = env[`${prefix}__credential`];
    if (credential !== undefined && credential !== 'managedidentity') {
      report(`${prefix}__credential`, expected('managedidentity, or nothing', credential));
    }
  }
  const names = [
    'AZURE_CLIENT_ID',
    ...['AzureWebJobsStorage', 'Cosmos', 'ServiceBus'].map((p) => `${p}__clientId`),
  ];
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [{ name, value: env[name] }]));
  for (const { name, value } of given) {
    if (!z.guid().safeParse(value).success)
      report(name, expected('the client id of an identity, a GUID', value));
  }
  const [first, ...others] = given;
  for (const { name, value } of others) {
    if (value !== first?.value) report(name, expected(`the same identity as ${first?.name}`, value));
  }
  return first?.value;
});

/**
 * `APPLICATIONINSIGHTS_CONNECTION_STRING`, and `APPLICATIONINSIGHTS_AUTHENTICATION_STRING` (`Authorization=AAD`, with
 * `ClientId=…` for a user-assigned identity), as the host reads them
 * (https://learn.microsoft.com/azure/azure-functions/functions-app-settings#applicationinsights_authentication_string).
 * Undefined where there is none: metrics then go nowhere.
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
        'expected a connection string of Application Insights, with InstrumentationKey',
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

interface ConnectionForms<T> {
  prefix: string;
  /** Ends of the settings that say that the identity form is meant. */
  identityNames: readonly string[];
  identityForm: string;
  stringForm: string;
  isString(parts: ReadonlyMap<string, string>): boolean;
  fromIdentity(env: Env, report: Report): T | undefined;
}

function connection<T>(forms: ConnectionForms<T | { kind: 'connectionString'; value: string }>) {
  const { prefix, identityNames, identityForm, stringForm } = forms;
  return z.custom<Env>().transform((env, context): T | { kind: 'connectionString'; value: string } => {
    const report = reportTo(context);
    const value = env[prefix];
    const identity = identityNames
      .map((end) => `${prefix}__${end}`)
      .filter((name) => env[name] !== undefined);
    if (value !== undefined && identity.length > 0) {
      report(prefix, `is given, and ${identity.join(' and ')} too: expected one of them, not both`);
      return z.NEVER;
    }
    if (identity.length > 0) return forms.fromIdentity(env, report) ?? z.NEVER;
    if (value === undefined) {
      report(
        prefix,
        `is missing: expected ${stringForm}; or ${identityForm}, to use the identity of the app`,
      );
      return z.NEVER;
    }
    // The value is a secret: the report never repeats it.
    if (!forms.isString(partsOf(value))) report(prefix, `expected ${stringForm}`);
    return { kind: 'connectionString', value };
  });
}

/** A finding's path is the name of its setting. */
function reportTo(context: z.core.$RefinementCtx<unknown>): Report {
  return (name, error) => {
    context.issues.push({ code: 'custom', path: [name], message: error, input: undefined });
  };
}

/** The parts of `Name=value;Name=value`, names in lower case. */
function partsOf(connectionString: string): Map<string, string> {
  const parts = connectionString.split(';').map((part) => {
    const [name = '', ...value] = part.split('=');
    return [name.trim().toLowerCase(), value.join('=').trim()] as const;
  });
  return new Map(parts.filter(([, value]) => value !== ''));
}

const https = 'an https address';

function isHttps(text: string): boolean {
  return URL.parse(text)?.protocol === 'https:';
}

function missing(what: string): string {
  return `is missing: expected ${what}`;
}

/** In words: what a setting should be, and what it is, unless that may hold a secret that got into the wrong place. */
export function expected(what: string, given: string): string {
  if (/key|secret|signature|password|@|[rs]k_(live|test)/i.test(given)) return `expected ${what}`;
  return `expected ${what}, not "${given.length > 60 ? `${given.slice(0, 60)}…` : given}"`;
}
