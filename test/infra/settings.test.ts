import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readSettings } from '../../src/platform/readSettings.ts';
import { isRecord, type Value, variableValue } from './bicep/evaluate.ts';
import { readInfra } from './bicep/readBicep.ts';
import { sources } from './sources.ts';

describe('settings', () => {
  const functionApp = readInfra('modules/functionApp.bicep');
  const given = {
    identityClientId: '11111111-2222-3333-4444-555555555555',
    storageName: 'stpayonceabc',
    cosmosEndpoint: 'https://cosmos-payonce-abc.documents.azure.com:443/',
    serviceBusHost: 'sb-payonce-abc.servicebus.windows.net',
    notifyWebhookUrl: '',
    applicationInsightsConnectionString: 'InstrumentationKey=11111111-2222-3333-4444-555555555555',
    ...Object.fromEntries(
      ['shards', 'shardGroups', 'invoiceSchedule', 'outboxSchedule'].map((name) => [name, mainDefault(name)]),
    ),
  };
  const appSettings = z
    .record(z.string(), z.string())
    .parse(
      Object.fromEntries(
        settingsIn(variableValue(functionApp, 'appSettings', given)).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : 'known to Azure only',
        ]),
      ),
    );

  /** Read by the code and not set in Azure, each with its reason. */
  const notSet: Record<string, string> = {
    AzureWebJobsStorage: 'a connection string: the app uses its identity',
    Cosmos: 'a connection string: the app uses its identity',
    ServiceBus: 'a connection string: the app uses its identity',
    AzureWebJobsStorage__blobServiceUri: 'follows from accountName',
    AzureWebJobsStorage__queueServiceUri: 'follows from accountName',
    INSTANCE_ID: 'the platform names its instances',
    WEBSITE_INSTANCE_ID: 'set by the platform',
    CONTAINER_NAME: 'set by the platform',
  };
  test('every setting that the code reads is set, or has a reason not to be', () => {
    const missing = settingsInCode().filter((name) => !(name in appSettings) && !(name in notSet));
    expect(missing).toEqual([]);
  });

  test('every setting in infra/ is read by the code', () => {
    const read = new Set(settingsInCode());
    expect(Object.keys(appSettings).filter((name) => !read.has(name))).toEqual([]);
  });

  test('what is left out for a reason is still read by the code', () => {
    expect(Object.keys(notSet).filter((name) => !settingsInCode().includes(name))).toEqual([]);
  });

  test('nothing but the entry points reads the environment', () => {
    const readers = [...sources].filter(([, text]) => text.includes('process.env')).map(([path]) => path);
    expect(readers).toEqual(['payonce.ts']);
  });

  test('the code accepts them, takes the identity everywhere, and finds its own defaults', () => {
    const key = { STRIPE_SECRET_KEY: ['sk', 'test', 'x'].join('_') };
    const settings = readSettings({ ...appSettings, ...key });
    expect(settings).toMatchObject({
      storage: { kind: 'identity', blobEndpoint: 'https://stpayonceabc.blob.core.windows.net' },
      cosmos: { kind: 'identity', endpoint: given.cosmosEndpoint },
      serviceBus: { kind: 'identity', namespace: given.serviceBusHost },
      clientId: given.identityClientId,
      telemetry: {
        connectionString: given.applicationInsightsConnectionString,
        identity: { clientId: given.identityClientId },
      },
    });
    const local = readSettings({
      AzureWebJobsStorage__accountName: given.storageName,
      Cosmos__accountEndpoint: given.cosmosEndpoint,
      ServiceBus__fullyQualifiedNamespace: given.serviceBusHost,
      AZURE_CLIENT_ID: given.identityClientId,
      ...key,
    });
    expect({ ...settings, instanceId: '' }).toEqual({
      ...local,
      telemetry: settings.telemetry,
      instanceId: '',
    });
  });

  test('the Stripe key is a reference to the vault, without a version', () => {
    expect(appSettings.STRIPE_SECRET_KEY).toBe('@Microsoft.KeyVault(SecretUri=<stripeSecretUri>)');
    const { outputs } = readInfra('modules/keyVault.bicep');
    for (const name of ['stripeSecretUri', 'notifySecretUri'])
      expect(outputs.get(name)?.value?.text).toMatch(/\}secrets\/\$\{\w+\}\/'$/);
  });
});

/** Names of all settings that the code reads: in capitals, or the two forms of a connection. */
function settingsInCode(): string[] {
  const text = ['platform/readSettings.ts', 'platform/connections.ts', 'payonce.ts']
    .map((path) => withoutComments(sources.get(path) ?? ''))
    .join('\n');
  const names = [
    // Keys of a schema, members of an environment, and names in quotes: never words inside of a message.
    ...text.matchAll(/(?:^|[\s{(,.])([A-Z][A-Z\d]+(?:_[A-Z\d]+)*)(?=\s*[:,})\]]|\s*\?\?|;|\s*$)/gm),
    ...text.matchAll(/'([A-Z][A-Z\d]+(?:_[A-Z\d]+)+)'/g),
    ...text.matchAll(/\benv\.(\w+)/g),
  ].map((match) => match[1] ?? '');
  const prefixes = [...text.matchAll(/prefix: '(\w+)'/g)].map((match) => match[1] ?? '');
  const ends = ['credential', 'clientId'].filter((end) => text.includes(`__${end}\``));
  const forms = prefixes.flatMap((prefix) => [prefix, ...ends.map((end) => `${prefix}__${end}`)]);
  return [...new Set([...names, ...forms])].filter((name) => !['URL', 'NEVER'].includes(name)).sort();
}

function settingsIn(value: Value): [string, Value][] {
  return isRecord(value) ? Object.entries(value) : [];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function mainDefault(name: string): Value {
  const text = readInfra('main.bicep').params.get(name)?.value?.text ?? '';
  return /^\d+$/.test(text) ? Number(text) : text.replace(/^'|'$/g, '');
}
