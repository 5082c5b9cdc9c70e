import { z } from 'zod';
import type { CosmosConnection, ServiceBusConnection, StorageConnection } from '../platform/connections.ts';
import { isHttps, partsOf } from './addresses.ts';
import type { Env } from './environment.ts';
import { expected, missing, type ReportFinding, reportTo } from './findings.ts';

/*
 * The names of these settings are those the Functions host reads, so that triggers and clients share one setting
 * (https://learn.microsoft.com/azure/azure-functions/functions-reference#connections).
 */

const https = 'an https address';
const prefixes = ['AzureWebJobsStorage', 'Cosmos', 'ServiceBus'];

/** `AzureWebJobsStorage`, or `AzureWebJobsStorage__accountName`, or its `__blobServiceUri` and `__queueServiceUri`. */
export const storageConnection = connection<StorageConnection>({
  prefix: 'AzureWebJobsStorage',
  identitySuffixes: ['accountName', 'blobServiceUri', 'queueServiceUri'],
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
  identitySuffixes: ['accountEndpoint'],
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
  identitySuffixes: ['fullyQualifiedNamespace'],
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
 * The client id of a user-assigned identity: `AZURE_CLIENT_ID`, or `__clientId` of a connection. Undefined: the
 * system-assigned one. The app uses one identity for every service.
 */
export const clientId = z.custom<Env>().transform((env, context) => {
  const report = reportTo(context);
  for (const prefix of prefixes) {
    const credential = env[`${prefix}__credential`];
    if (credential !== undefined && credential !== 'managedidentity') {
      report(`${prefix}__credential`, expected('managedidentity, or no such setting', credential));
    }
  }
  const names = ['AZURE_CLIENT_ID', ...prefixes.map((prefix) => `${prefix}__clientId`)];
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [{ name, value: env[name] }]));
  for (const { name, value } of given) {
    if (!z.guid().safeParse(value).success)
      report(name, expected('the client id of an identity, as a GUID', value));
  }
  const [first, ...others] = given;
  for (const { name, value } of others) {
    if (value !== first?.value) report(name, expected(`the same identity as ${first?.name}`, value));
  }
  return first?.value;
});

interface ConnectionForms<T> {
  prefix: string;
  /** Suffixes of the settings that select the identity form. */
  identitySuffixes: readonly string[];
  identityForm: string;
  stringForm: string;
  isString(parts: ReadonlyMap<string, string>): boolean;
  fromIdentity(env: Env, report: ReportFinding): T | undefined;
}

function connection<T>(forms: ConnectionForms<T | { kind: 'connectionString'; value: string }>) {
  const { prefix, identitySuffixes, identityForm, stringForm } = forms;
  return z.custom<Env>().transform((env, context): T | { kind: 'connectionString'; value: string } => {
    const report = reportTo(context);
    const value = env[prefix];
    const identity = identitySuffixes
      .map((suffix) => `${prefix}__${suffix}`)
      .filter((name) => env[name] !== undefined);
    if (value !== undefined && identity.length > 0) {
      report(
        prefix,
        `conflicts with ${identity.join(' and ')}: expected a connection string or an identity, not both`,
      );
      return z.NEVER;
    }
    if (identity.length > 0) return forms.fromIdentity(env, report) ?? z.NEVER;
    if (value === undefined) {
      report(prefix, missing(`${stringForm}; or ${identityForm}, to use the app's identity`));
      return z.NEVER;
    }
    // The value is a secret: the report never repeats it.
    if (!forms.isString(partsOf(value))) report(prefix, `expected ${stringForm}`);
    return { kind: 'connectionString', value };
  });
}
