import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readSettings } from '../../src/settings/readSettings.ts';
import { isRecord, type Value, variableValue } from './bicep/evaluate.ts';
import { readInfra } from './bicep/readBicep.ts';
import { settingDifferences } from './compareSettings.ts';
import { root, sources } from './sources.ts';

describe('settings', () => {
  const functionApp = readInfra('modules/functionApp.bicep');
  const given = {
    identityClientId: '11111111-2222-3333-4444-555555555555',
    storageName: 'stpayonceabc',
    cosmosEndpoint: 'https://cosmos-payonce-abc.documents.azure.com:443/',
    serviceBusHost: 'sb-payonce-abc.servicebus.windows.net',
    notifyWebhookUrl: '',
    opsClientId: '',
    stripeWebhook: false,
    applicationInsightsConnectionString: 'InstrumentationKey=11111111-2222-3333-4444-555555555555',
    ...Object.fromEntries(
      [
        'shards',
        'shardGroups',
        'paymentRate',
        'keepDays',
        'deploymentId',
        'locks',
        'invoiceSchedule',
        'outboxSchedule',
      ].map((name) => [name, mainDefault(name)]),
    ),
  };
  const appSettings = z
    .record(z.string(), z.string())
    .parse(
      Object.fromEntries(
        settingsIn(variableValue(functionApp, 'appSettings', given)).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : 'known only to Azure',
        ]),
      ),
    );

  test('infra/ sets exactly what the code reads; every exception has a reason', () => {
    expect(settingDifferences(sources, Object.keys(appSettings))).toEqual({
      missing: [],
      unread: [],
      idle: [],
    });
  });

  test('only the entry point reads the environment', () => {
    const readers = [...sources].filter(([, text]) => text.includes('process.env')).map(([path]) => path);
    expect(readers).toEqual(['src/payonce.ts']);
  });

  test('the code accepts them, uses the identity everywhere, and they match its own defaults', () => {
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
      traces: { sample: 0.1, otlpEndpoint: undefined },
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

  test('the host exports OpenTelemetry, every invocation of it, so that its spans and ours are one trace', () => {
    const hostJson: unknown = JSON.parse(readFileSync(join(root, 'host.json'), 'utf8'));
    expect(hostJson).toMatchObject({ telemetryMode: 'OpenTelemetry' });
    const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share } = appSettings;
    expect([sampler, share]).toEqual(['microsoft.fixed_percentage', '1.0']);
  });

  test('the Stripe key is a reference to the vault, without a version', () => {
    expect(appSettings.STRIPE_SECRET_KEY).toBe('@Microsoft.KeyVault(SecretUri=<stripeSecretUri>)');
    const { outputs } = readInfra('modules/keyVault.bicep');
    for (const name of ['stripeSecretUri', 'stripeEventsUri', 'notifySecretUri'])
      expect(outputs.get(name)?.value?.text).toMatch(/\}secrets\/\$\{\w+\}\/'$/);
  });
});

function settingsIn(value: Value): [string, Value][] {
  return isRecord(value) ? Object.entries(value) : [];
}

function mainDefault(name: string): Value {
  const text = readInfra('main.bicep').params.get(name)?.value?.text ?? '';
  return /^\d+$/.test(text) ? Number(text) : text.replace(/^'|'$/g, '');
}
