import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callWindowMs } from '../../src/paying/payingPolicy.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { BadSettings } from '../../src/settings/settings.ts';

const cosmosKey = 'Y29zbW9zLXNlY3JldA==';
const good = {
  AzureWebJobsStorage:
    'DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=c3RvcmFnZS1zZWNyZXQ=;EndpointSuffix=x',
  Cosmos: `AccountEndpoint=https://acc.documents.azure.com:443/;AccountKey=${cosmosKey};`,
  ServiceBus:
    'Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=YnVzLXNlY3JldA==',
  STRIPE_SECRET_KEY: 'sk_test_4eC39HqLyjWDarjtT1zdp7dc',
};
const machine = { hostname: 'box', pid: 7 };
const identity = {
  AzureWebJobsStorage__accountName: 'acc',
  Cosmos__accountEndpoint: 'https://acc.documents.azure.com:443/',
  ServiceBus__fullyQualifiedNamespace: 'ns.servicebus.windows.net',
  STRIPE_SECRET_KEY: 'rk_live_abc',
};
const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';

const read = (env: Record<string, string | undefined>) => readSettings(env, machine);

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    read(env);
  } catch (error) {
    if (error instanceof BadSettings) return error.problems;
    throw error;
  }
  throw new Error('taken');
}

describe('readSettings', () => {
  test('a Key Vault reference that the platform could not resolve is refused', () => {
    const reference = '@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/x/)';
    const env = { ...good, STRIPE_SECRET_KEY: reference, NOTIFY_WEBHOOK_SECRET: reference };
    const unresolved = expect.stringMatching(
      /unresolved Key Vault reference: the secret, .* role .* is missing$/,
    );
    expect(problemsOf({ ...env, NOTIFY_WEBHOOK_URL: 'https://example.com/hook' })).toEqual([
      unresolved,
      unresolved,
    ]);
  });

  test('metrics go to Application Insights by key alone, or by identity too', () => {
    const connectionString = 'InstrumentationKey=0f8fad5b;IngestionEndpoint=https://in.example/';
    const to = (authentication?: string) =>
      read({
        ...good,
        APPLICATIONINSIGHTS_CONNECTION_STRING: ` ${connectionString} `,
        APPLICATIONINSIGHTS_AUTHENTICATION_STRING: authentication,
      }).telemetry;
    expect(to()).toEqual({ connectionString, identity: undefined });
    expect(to('Authorization=AAD')).toEqual({ connectionString, identity: { clientId: undefined } });
    expect(to(`clientid=${guid}; authorization=aad`)).toEqual({
      connectionString,
      identity: { clientId: guid },
    });
    expect(read({ ...good, APPLICATIONINSIGHTS_CONNECTION_STRING: ' ' }).telemetry).toBeUndefined();
  });

  test('a tenth is traced in detail unless TRACE_SAMPLE says otherwise', () => {
    const traces = (env: Record<string, string>) => read({ ...good, ...env }).traces;
    expect(traces({})).toEqual({ sample: 0.1, otlpEndpoint: undefined });
    for (const [text, sample] of [
      ['0', 0],
      ['1', 1],
      ['1.0', 1],
      ['.25', 0.25],
      [' 0.000001 ', 0.000001],
    ] as const)
      expect(traces({ TRACE_SAMPLE: text })).toMatchObject({ sample });
    expect(traces({ TRACE_SAMPLE: 'off' })).toBeUndefined();
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/' };
    expect(traces(endpoint)).toEqual({ sample: 0.1, otlpEndpoint: 'http://localhost:4318' });
  });

  test.each(['1.1', '-0.1', '10%', '1e-3', 'on', '0.1.2'])('TRACE_SAMPLE=%s is refused', (text) => {
    expect(problemsOf({ ...good, TRACE_SAMPLE: text })).toEqual([
      `TRACE_SAMPLE: expected a share from 0 to 1, such as 0.1, or off, not "${text}"`,
    ]);
  });

  test('an OTLP receiver that is not this machine is reached by https', () => {
    expect(problemsOf({ ...good, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' })).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT: expected an https address (http only for this machine), not "http://collector:4318"',
    ]);
  });

  test('a bad Application Insights connection is named, without its secret', () => {
    const env = {
      ...good,
      APPLICATIONINSIGHTS_CONNECTION_STRING: 'IngestionEndpoint=https://in.example/',
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `ClientId=${guid}`,
    };
    expect(problemsOf(env)).toEqual([
      'APPLICATIONINSIGHTS_CONNECTION_STRING: expected an Application Insights connection string with InstrumentationKey',
      expect.stringMatching(/^APPLICATIONINSIGHTS_AUTHENTICATION_STRING: expected Authorization=AAD/),
    ]);
  });

  test('fills in defaults', () => {
    expect(read(good)).toEqual({
      storage: { kind: 'connectionString', value: good.AzureWebJobsStorage },
      cosmos: { kind: 'connectionString', value: good.Cosmos },
      serviceBus: { kind: 'connectionString', value: good.ServiceBus },
      telemetry: undefined,
      traces: { sample: 0.1, otlpEndpoint: undefined },
      clientId: undefined,
      stripe: { secretKey: good.STRIPE_SECRET_KEY, apiBase: 'https://api.stripe.com' },
      webhookSecrets: [],
      invoiceSchedule: '0 */5 * * * *',
      outboxSchedule: '*/30 * * * * *',
      shards: 16,
      shardGroups: 4,
      batchSize: 50,
      keepDays: 400,
      locks: { kind: 'blob' },
      leaseSeconds: 30,
      claimStaleSeconds: 300,
      paymentTimeoutSeconds: 30,
      allowance: { rate: 25, accountRate: 25 },
      instanceId: 'box-7',
      environment: 'local',
      signIn: 'none',
    });
  });

  test('a sign-in that is required and that the platform does not say is on counts as missing', () => {
    const signIn = (more: Record<string, string>) => read({ ...good, ...more }).signIn;
    expect(signIn({ WEBSITE_AUTH_ENABLED: 'True' })).toBe('platform');
    expect(signIn({ WEBSITE_AUTH_ENABLED: 'True', OPS_SIGN_IN: 'required' })).toBe('platform');
    expect(signIn({ WEBSITE_AUTH_ENABLED: 'False', OPS_SIGN_IN: 'required' })).toBe('missing');
    expect(signIn({ OPS_SIGN_IN: 'required' })).toBe('missing');
    expect(signIn({ OPS_SIGN_IN: '' })).toBe('none');
    expect(problemsOf({ ...good, OPS_SIGN_IN: 'yes' })).toEqual([
      'OPS_SIGN_IN: expected required, or nothing',
    ]);
  });

  test('takes the values it is given', () => {
    const given = {
      STRIPE_API_BASE: 'http://127.0.0.1:12111/',
      INVOICE_SCHEDULE: '*/5 * * * * *',
      OUTBOX_SCHEDULE: '0 * * * * *',
      SHARDS: '256',
      SHARD_GROUPS: '256',
      BATCH_SIZE: '75',
      KEEP_DAYS: '90',
      LEASE_SECONDS: '15',
      CLAIM_STALE_SECONDS: '600',
      PAYMENT_TIMEOUT_SECONDS: '80',
      PAYMENT_RATE: '400',
      INSTANCE_ID: 'one',
      AZURE_CLIENT_ID: guid,
    };
    expect(read({ ...good, ...given })).toMatchObject({
      stripe: { apiBase: 'http://127.0.0.1:12111' },
      invoiceSchedule: '*/5 * * * * *',
      outboxSchedule: '0 * * * * *',
      shards: 256,
      shardGroups: 256,
      batchSize: 75,
      keepDays: 90,
      leaseSeconds: 15,
      claimStaleSeconds: 600,
      paymentTimeoutSeconds: 80,
      allowance: { rate: 400, accountRate: 400 },
      instanceId: 'one',
      clientId: guid,
    });
  });

  test('takes several secrets for the events of Stripe, as there are while one is replaced', () => {
    const secrets = ['whsec_4eC39HqLyjWDarjtT1zdp7dc', 'whsec_8fD40IrMzkXEbskuU2aeq8ed'];
    const env = { ...good, STRIPE_WEBHOOK_SECRETS: ` ${secrets[0]}, ${secrets[1]},` };
    expect(read(env).webhookSecrets).toEqual(secrets);
    expect(read({ ...good, STRIPE_WEBHOOK_SECRETS: '' }).webhookSecrets).toEqual([]);
  });

  test.each([
    'sk_test_4eC39HqLyjWDarjtT1zdp7dc',
    'whsec_',
    'whsec_4eC39HqLyjWDarjtT1zdp7dc;whsec_b',
    'secret',
  ])('refuses %s as a secret for events, and does not repeat it', (text) => {
    const [problem] = problemsOf({ ...good, STRIPE_WEBHOOK_SECRETS: text });
    expect(problem).toBe(
      'STRIPE_WEBHOOK_SECRETS: expected signing secrets of Stripe webhook endpoints, whsec_…, separated by commas',
    );
  });

  test('treats a blank setting as not set', () => {
    expect(read({ ...good, SHARDS: '', Cosmos__accountEndpoint: ' ' }).shards).toBe(16);
    expect(problemsOf({ ...good, Cosmos: ' ' })[0]).toMatch(/^Cosmos: is missing/);
  });

  test('names every missing setting, one per line', () => {
    const problems = problemsOf({});
    expect(problems.map((line) => line.split(':')[0])).toEqual([
      'AzureWebJobsStorage',
      'Cosmos',
      'ServiceBus',
      'STRIPE_SECRET_KEY',
    ]);
    expect(problems.every((line) => line.includes('is missing: expected'))).toBe(true);
    expect(new BadSettings(problems).message.split('\n')).toHaveLength(5);
  });

  test('names every wrong setting at once', () => {
    const wrong = {
      AzureWebJobsStorage: 'x',
      Cosmos: 'x',
      ServiceBus: 'Endpoint=https://a;SharedAccessKeyName=a;SharedAccessKey=b',
      ServiceBus__credential: 'secretless',
      AZURE_CLIENT_ID: 'me',
      STRIPE_SECRET_KEY: 'pk_test_abc',
      STRIPE_API_BASE: 'http://example.com',
      INVOICE_SCHEDULE: '*/5 * * * *',
      OUTBOX_SCHEDULE: 'often',
      SHARDS: '257',
      SHARD_GROUPS: '0',
      BATCH_SIZE: '76',
      KEEP_DAYS: '29',
      LEASE_SECONDS: '14',
      CLAIM_STALE_SECONDS: '4',
      PAYMENT_TIMEOUT_SECONDS: '81',
      INSTANCE_ID: 'x'.repeat(201),
    };
    expect(new Set(problemsOf(wrong).map((line) => line.split(':')[0]))).toEqual(new Set(Object.keys(wrong)));
  });

  test.each([
    '*/15 0-30/5,45 8-18 1,15 jan-Mar,12 MON-fri',
    '0 0 0 31 December 0-6',
    '59 59 23 * * Saturday',
    '  0   0 0 29 2 * ',
  ])('takes the schedule %s', (text) => {
    expect(read({ ...good, INVOICE_SCHEDULE: text }).invoiceSchedule).toBe(text.trim());
  });

  test.each([
    '0 99 * * * *',
    '60 * * * * *',
    '0 0 24 * * *',
    '0 0 0 0 * *',
    '0 0 0 32 * *',
    '0 0 0 1 13 *',
    '0 0 0 1 0 *',
    '0 0 0 * * 7',
    '0 0 0 * mon *',
    '0 5-60 * * * *',
    '0 1,, * * * *',
    '0 */0 * * * *',
    '0 *-5 * * * *',
    '0 1/ * * * *',
    '0 ? * * * *',
    '0 * * * * * *',
  ])('refuses the schedule %s, which the host does not take', (text) => {
    expect(problemsOf({ ...good, INVOICE_SCHEDULE: text })).toEqual([
      expect.stringMatching(/^INVOICE_SCHEDULE: expected an NCRONTAB expression/),
    ]);
  });

  test('never repeats a secret, whichever setting it was put in', () => {
    const secret = 'hunter2hunter2';
    const names = [
      ...Object.keys({ ...good, ...identity }),
      'AzureWebJobsStorage__blobServiceUri',
      'AzureWebJobsStorage__queueServiceUri',
    ];
    for (const name of names) {
      for (const value of [
        secret,
        `sk_test_!${secret}`,
        `AccountKey=${secret}`,
        `https://user:${secret}@host/`,
      ]) {
        if (
          !['AzureWebJobsStorage', 'Cosmos', 'ServiceBus', 'STRIPE_SECRET_KEY'].includes(name) &&
          value === secret
        ) {
          continue; // Here it could be any name or address, and nothing marks it as a secret.
        }
        expect(problemsOf({ [name]: value }).join('\n')).not.toContain(secret);
      }
    }
  });
});

describe('a whole number', () => {
  test.each([
    ['SHARDS', 1, 256],
    ['BATCH_SIZE', 1, 75],
    ['KEEP_DAYS', 30, 36_500],
    ['LEASE_SECONDS', 15, 60],
    ['CLAIM_STALE_SECONDS', 5, 86_400],
    ['PAYMENT_TIMEOUT_SECONDS', 1, 80],
  ])('%s is from %i to %i', (name, min, max) => {
    const base = { ...good, SHARD_GROUPS: '1', [name]: '' };
    expect(() => read({ ...base, [name]: String(min) })).not.toThrow();
    expect(() => read({ ...base, [name]: String(max) })).not.toThrow();
    for (const bad of [String(min - 1), String(max + 1), '1.5', '1e1', '-1', 'many', '0x10', '١٥']) {
      expect(problemsOf({ ...base, [name]: bad })).toEqual([
        `${name}: expected a whole number from ${min} to ${max}, not "${bad}"`,
      ]);
    }
  });
});

describe('settings that must fit each other', () => {
  test('no more groups than shards', () => {
    expect(problemsOf({ ...good, SHARDS: '2' })).toEqual([
      expect.stringMatching(/^SHARD_GROUPS: .*at most as many/),
    ]);
  });

  test.each([
    [85, 80, 25],
    [20, 20, 6],
    [5, 2, 1],
  ])('claims of %i s leave no time for calls of %i s', (stale, timeout, longest) => {
    const env = { ...good, CLAIM_STALE_SECONDS: `${stale}` };
    expect(problemsOf({ ...env, PAYMENT_TIMEOUT_SECONDS: `${timeout}` })).toEqual([
      `PAYMENT_TIMEOUT_SECONDS: expected at most ${longest} (CLAIM_STALE_SECONDS is ${stale}), not "${timeout}":` +
        ' a longer timeout leaves no time to start a payment before its claim goes stale',
    ]);
    expect(() => read({ ...env, PAYMENT_TIMEOUT_SECONDS: `${longest}` })).not.toThrow();
  });

  test('the default payment timeout fits the claims', () => {
    const timeoutOf = (stale: string) => read({ ...good, CLAIM_STALE_SECONDS: stale }).paymentTimeoutSeconds;
    expect(['5', '20', '100', '86400'].map(timeoutOf)).toEqual([1, 6, 30, 30]);
  });

  test('a timeout is accepted exactly when it leaves a window for a call', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: 400 }),
        fc.option(fc.integer({ min: 1, max: 80 }), { nil: undefined }),
        (stale, timeout) => {
          const env = {
            ...good,
            CLAIM_STALE_SECONDS: `${stale}`,
            PAYMENT_TIMEOUT_SECONDS: timeout?.toString(),
          };
          const window = (seconds: number) =>
            callWindowMs({ claimStaleMs: stale * 1000, timeoutMs: seconds * 1000 }) / 1000;
          if (timeout !== undefined && window(timeout) < timeout) {
            expect(problemsOf(env)).toHaveLength(1);
          } else {
            const { paymentTimeoutSeconds } = read(env);
            expect(window(paymentTimeoutSeconds)).toBeGreaterThanOrEqual(paymentTimeoutSeconds);
          }
        },
      ),
    );
  });

  test('a live key goes to Stripe only', () => {
    const live = { ...good, STRIPE_SECRET_KEY: 'sk_live_abc' };
    expect(read(live).stripe.secretKey).toBe('sk_live_abc');
    expect(problemsOf({ ...live, STRIPE_API_BASE: 'http://localhost:12111' })).toEqual([
      expect.stringMatching(/^STRIPE_SECRET_KEY: expected a test key/),
    ]);
  });
});

describe('a connection', () => {
  test.each([
    ['AzureWebJobsStorage', 'UseDevelopmentStorage=true'],
    [
      'AzureWebJobsStorage',
      'BlobEndpoint=https://a/;QueueEndpoint=https://b/;SharedAccessSignature=sv=1&sig=x',
    ],
    ['Cosmos', 'accountendpoint=http://127.0.0.1:8081/;accountkey=eA==;'],
    [
      'ServiceBus',
      'Endpoint=sb://127.0.0.1:5672;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true',
    ],
    ['ServiceBus', 'Endpoint=sb://ns;SharedAccessSignature=SharedAccessSignature sr=x&sig=y'],
  ])('%s may be %s', (name, value) => {
    expect(() => read({ ...good, [name]: value })).not.toThrow();
  });

  test("may be the app's identity", () => {
    expect(read(identity)).toMatchObject({
      storage: {
        kind: 'identity',
        blobEndpoint: 'https://acc.blob.core.windows.net',
        queueEndpoint: 'https://acc.queue.core.windows.net',
      },
      cosmos: { kind: 'identity', endpoint: 'https://acc.documents.azure.com:443/' },
      serviceBus: { kind: 'identity', namespace: 'ns.servicebus.windows.net' },
      clientId: undefined,
    });
  });

  test('by identity may name its endpoints and a user-assigned identity', () => {
    const { AzureWebJobsStorage__accountName: _, ...others } = identity;
    const env = {
      ...others,
      AzureWebJobsStorage__blobServiceUri: 'https://blob.example',
      AzureWebJobsStorage__queueServiceUri: 'https://queue.example',
      AzureWebJobsStorage__credential: 'managedidentity',
      AzureWebJobsStorage__clientId: guid,
      AZURE_CLIENT_ID: guid,
    };
    expect(read(env)).toMatchObject({
      storage: {
        kind: 'identity',
        blobEndpoint: 'https://blob.example',
        queueEndpoint: 'https://queue.example',
      },
      clientId: guid,
    });
    expect(problemsOf({ ...env, AzureWebJobsStorage__queueServiceUri: '' })).toEqual([
      'AzureWebJobsStorage__queueServiceUri: is missing: expected an https address',
    ]);
  });

  test('is refused in both forms at once', () => {
    expect(problemsOf({ ...good, ...identity })).toEqual([
      'AzureWebJobsStorage: conflicts with AzureWebJobsStorage__accountName: expected a connection string or an identity, not both',
      'Cosmos: conflicts with Cosmos__accountEndpoint: expected a connection string or an identity, not both',
      'ServiceBus: conflicts with ServiceBus__fullyQualifiedNamespace: expected a connection string or an identity, not both',
    ]);
  });

  test('is refused with a second identity: the app has one', () => {
    const other = guid.replace('0', '1');
    expect(problemsOf({ ...identity, AZURE_CLIENT_ID: guid, ServiceBus__clientId: other })).toEqual([
      `ServiceBus__clientId: expected the same identity as AZURE_CLIENT_ID, not "${other}"`,
    ]);
  });

  test.each([
    ['AzureWebJobsStorage__accountName', 'My-Account'],
    ['Cosmos__accountEndpoint', 'acc.documents.azure.com'],
    ['Cosmos__accountEndpoint', 'http://acc.documents.azure.com'],
    ['ServiceBus__fullyQualifiedNamespace', 'sb://ns.servicebus.windows.net'],
    ['ServiceBus__fullyQualifiedNamespace', 'ns'],
  ])('%s cannot be %s', (name, value) => {
    expect(problemsOf({ ...identity, [name]: value })).toEqual([
      expect.stringMatching(`^${name}: expected `),
    ]);
  });
});

describe('STRIPE_API_BASE', () => {
  test.each([
    ['http://localhost:1', 'http://localhost:1'],
    ['http://[::1]:1', 'http://[::1]:1'],
    ['http://127.1.2.3:1/', 'http://127.1.2.3:1'],
    ['https://proxy.example', 'https://proxy.example'],
  ])('may be %s', (given, apiBase) => {
    expect(read({ ...good, STRIPE_API_BASE: given }).stripe.apiBase).toBe(apiBase);
  });

  test.each([
    'http://api.stripe.com',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'https://api.stripe.com/v1',
    'https://api.stripe.com?x=1',
    'https://me@api.stripe.com',
    'api.stripe.com',
    'ftp://localhost',
  ])('cannot be %s', (given) => {
    expect(problemsOf({ ...good, STRIPE_API_BASE: given })).toEqual([
      expect.stringMatching(/^STRIPE_API_BASE: /),
    ]);
  });
});

describe('the instance id', () => {
  test.each([
    [{ INSTANCE_ID: 'a', WEBSITE_INSTANCE_ID: 'b', CONTAINER_NAME: 'c' }, 'a'],
    [{ WEBSITE_INSTANCE_ID: 'b', CONTAINER_NAME: 'c' }, 'b'],
    [{ CONTAINER_NAME: 'c' }, 'c'],
    [{}, 'box-7'],
  ])('from %j is %s', (env, instanceId) => {
    expect(read({ ...good, ...env }).instanceId).toBe(instanceId);
  });
});

describe('the webhook', () => {
  const url = 'https://example.com/hook';
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

  test('takes both settings or neither', () => {
    expect(read(good).notify).toBeUndefined();
    const both = { ...good, NOTIFY_WEBHOOK_URL: url, NOTIFY_WEBHOOK_SECRET: secret };
    expect(read(both).notify).toEqual({ url, secret });
    expect(problemsOf({ ...good, NOTIFY_WEBHOOK_URL: url })).toEqual([
      'NOTIFY_WEBHOOK_SECRET: is missing: expected both or neither, and NOTIFY_WEBHOOK_URL is set',
    ]);
    expect(problemsOf({ ...good, NOTIFY_WEBHOOK_SECRET: secret })[0]).toMatch(
      /^NOTIFY_WEBHOOK_URL: is missing/,
    );
  });

  test.each(['http://example.com/hook', 'nonsense', 'ftp://127.0.0.1/'])('cannot be %s', (address) => {
    const env = { ...good, NOTIFY_WEBHOOK_URL: address, NOTIFY_WEBHOOK_SECRET: secret };
    expect(problemsOf(env)[0]).toMatch(/^NOTIFY_WEBHOOK_URL: expected an https address/);
  });

  test.each(['https://user:hunter2@example.com/', 'https://:hunter2@example.com/', 'http://u@127.0.0.1/'])(
    'cannot have credentials in its address, and the error does not repeat them: %s',
    (address) => {
      const env = { ...good, NOTIFY_WEBHOOK_URL: address, NOTIFY_WEBHOOK_SECRET: secret };
      expect(problemsOf(env)).toEqual([
        'NOTIFY_WEBHOOK_URL: expected an address without a user and password: notifications are signed instead',
      ]);
    },
  );

  test.each([
    'whsec_$$$$$$$$$$$$$$$$$$$$$$$$',
    'whsec_=========================',
    `whsec_${'!'.repeat(30)}AAAA`,
  ])('the secret %s is no key', (noKey) => {
    const env = { ...good, NOTIFY_WEBHOOK_URL: url, NOTIFY_WEBHOOK_SECRET: noKey };
    expect(problemsOf(env)).toEqual([
      'NOTIFY_WEBHOOK_SECRET: expected base64 of at least 16 bytes after whsec_, or a text without that prefix',
    ]);
  });

  test('a short secret is refused and not repeated', () => {
    const [problem] = problemsOf({ ...good, NOTIFY_WEBHOOK_URL: url, NOTIFY_WEBHOOK_SECRET: 'hunter2' });
    expect(problem).toBe('NOTIFY_WEBHOOK_SECRET: expected at least 24 characters');
  });
});

describe('LOCKS', () => {
  const locks = (address: string) => read({ ...good, LOCKS: address }).locks;

  test.each(['blob', 'cosmos', 'service-bus'])('%s needs no address', (kind) => {
    expect(locks(kind)).toEqual({ kind });
  });

  test.each([
    ['redis://127.0.0.1:6379/1', 'redis'],
    ['rediss://:p%40ss@cache.example.com:6380', 'redis'],
    ['postgres://payonce:secret@db/locks', 'postgres'],
    ['postgresql://db', 'postgres'],
    ['postgres-advisory://db', 'postgres-advisory'],
    ['mysql://db', 'mysql'],
    ['mariadb://db', 'mysql'],
    ['etcd://a:2379,b:2379,[::1]:2379', 'etcd'],
    ['etcds://a', 'etcd'],
    ['zookeeper://a:2181,b:2181', 'zookeeper'],
  ])('%s is a server of %s', (url, kind) => {
    expect(locks(` ${url} `)).toEqual({ kind, url });
  });

  test('several addresses are a quorum', () => {
    const members = ['redis://a', 'redis://b', 'etcd://c'].map((url) => ({ kind: url.split(':')[0], url }));
    expect(locks('redis://a redis://b  etcd://c')).toEqual({ kind: 'quorum', members });
  });

  test.each([
    'memcached://a',
    'redis:',
    'redis://',
    'Blob',
    'blob redis://a redis://b',
    'redis://a redis://b',
    'redis://a redis://a redis://b',
    'redis://a,b:1',
    'etcd://a,,b',
    '__proto__://a',
    'redis://user:topsecret@host:port',
  ])('"%s" is refused, and not repeated: it may hold a password', (address) => {
    const [problem = '', ...others] = problemsOf({ ...good, LOCKS: address });
    expect(others).toEqual([]);
    expect(problem).toMatch(/^LOCKS: expected blob, cosmos, service-bus, an address \(redis:/);
    expect(problem).not.toContain('topsecret');
  });

  test('a reference that was not resolved is named as one', () => {
    const reference = '@Microsoft.KeyVault(SecretUri=https://v/secrets/locks)';
    expect(problemsOf({ ...good, LOCKS: reference })).toEqual([
      expect.stringMatching(/^LOCKS: is an unresolved Key Vault reference/),
    ]);
  });

  test('on Service Bus leases have the length of a session lock', () => {
    expect(problemsOf({ ...good, LOCKS: 'service-bus', LEASE_SECONDS: '15' })).toEqual([
      'LEASE_SECONDS: expected 30, because LOCKS is service-bus: a session lock lasts as long as its queue says',
    ]);
  });
});
