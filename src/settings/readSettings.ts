import { hostname } from 'node:os';
import { z } from 'zod';
import { longestTimeoutMs } from '../paying/callWindow.ts';
import {
  type CosmosConnection,
  clientId,
  cosmosConnection,
  expected,
  type ServiceBusConnection,
  type StorageConnection,
  serviceBusConnection,
  storageConnection,
  type TelemetryConnection,
  telemetryConnection,
} from './connections.ts';
import { ncrontabError } from './ncrontab.ts';

/** The settings of one process, checked. */
export interface Settings {
  readonly storage: Readonly<StorageConnection>;
  readonly cosmos: Readonly<CosmosConnection>;
  readonly serviceBus: Readonly<ServiceBusConnection>;
  /** Where metrics go; undefined: nowhere. */
  readonly telemetry: TelemetryConnection | undefined;
  /** The client id of a user-assigned identity; undefined for the system-assigned one. */
  readonly clientId: string | undefined;
  /** `apiBase` has no slash at its end. */
  readonly stripe: { readonly secretKey: string; readonly apiBase: string };
  /** NCRONTAB with seconds. */
  readonly invoiceSchedule: string;
  readonly outboxSchedule: string;
  readonly shards: number;
  readonly shardGroups: number;
  readonly batchSize: number;
  readonly leaseSeconds: number;
  readonly claimStaleSeconds: number;
  readonly paymentTimeoutSeconds: number;
  readonly instanceId: string;
  /** The webhook that hears what becomes of invoices; undefined where nobody wants to. */
  readonly notify: { readonly url: string; readonly secret: string } | undefined;
}

/** Every setting that is missing or wrong, a line each. No line repeats a secret. */
export class BadSettings extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? 'A setting is' : 'Settings are'} missing or wrong:\n  ${problems.join('\n  ')}`,
    );
    this.name = 'BadSettings';
    this.problems = problems;
  }
}

const defaultApiBase = 'https://api.stripe.com';
const defaultPaymentTimeout = 30;
const notResolved =
  'is a reference to Key Vault that was not resolved: the secret or the role of the app on the vault is missing';

/** Settings that must fit each other are one schema, so that each such rule is checked whatever else is wrong. */
const settingsSchema = z.object({
  storage: storageConnection,
  cosmos: cosmosConnection,
  serviceBus: serviceBusConnection,
  telemetry: telemetryConnection,
  clientId,
  stripe: z
    .object({ STRIPE_SECRET_KEY: secretKey(), STRIPE_API_BASE: apiBase() })
    .refine(
      ({ STRIPE_SECRET_KEY, STRIPE_API_BASE }) => !(isLive(STRIPE_SECRET_KEY) && isLoopback(STRIPE_API_BASE)),
      {
        path: ['STRIPE_SECRET_KEY'],
        error: 'expected a test key (sk_test_…), since STRIPE_API_BASE is this machine, not Stripe',
      },
    )
    .transform((given) => ({ secretKey: given.STRIPE_SECRET_KEY, apiBase: given.STRIPE_API_BASE })),
  schedules: z.object({
    INVOICE_SCHEDULE: schedule('0 */5 * * * *'),
    OUTBOX_SCHEDULE: schedule('*/30 * * * * *'),
  }),
  sharding: z
    .object({ SHARDS: wholeNumber(16, 1, 256), SHARD_GROUPS: wholeNumber(4, 1, 256) })
    .refine(({ SHARDS, SHARD_GROUPS }) => SHARD_GROUPS <= SHARDS, {
      path: ['SHARD_GROUPS'],
      error: 'expected at most as many groups as SHARDS: a group without a shard has nothing to do',
    }),
  // A batch is one Cosmos transaction of at most 100 operations, of which some are not invoices.
  BATCH_SIZE: wholeNumber(50, 1, 96),
  // What Blob Storage grants (https://learn.microsoft.com/rest/api/storageservices/lease-blob).
  LEASE_SECONDS: wholeNumber(30, 15, 60),
  times: z
    .object({
      CLAIM_STALE_SECONDS: wholeNumber(300, 5, 86_400),
      PAYMENT_TIMEOUT_SECONDS: wholeNumber(undefined, 1, 80),
    })
    .transform(({ CLAIM_STALE_SECONDS: stale, PAYMENT_TIMEOUT_SECONDS: timeout }, context) => {
      const longest = Math.floor(longestTimeoutMs(stale * 1000) / 1000);
      if (timeout !== undefined && timeout > longest) {
        const most = `at most ${longest} (CLAIM_STALE_SECONDS is ${stale})`;
        const why = 'with more there is no time to begin a payment whose claim does not go stale meanwhile';
        const message = `${expected(most, `${timeout}`)}: ${why}`;
        context.addIssue({ code: 'custom', path: ['PAYMENT_TIMEOUT_SECONDS'], message });
      }
      return { stale, timeout: timeout ?? Math.min(defaultPaymentTimeout, longest) };
    }),
  notify: z
    .object({ NOTIFY_WEBHOOK_URL: webhookUrl(), NOTIFY_WEBHOOK_SECRET: webhookSecret() })
    .transform(({ NOTIFY_WEBHOOK_URL: url, NOTIFY_WEBHOOK_SECRET: secret }, context) => {
      if (url !== undefined && secret !== undefined) return { url, secret };
      const [missing, given] =
        url === undefined
          ? ['NOTIFY_WEBHOOK_URL', 'NOTIFY_WEBHOOK_SECRET']
          : ['NOTIFY_WEBHOOK_SECRET', 'NOTIFY_WEBHOOK_URL'];
      if (url !== undefined || secret !== undefined) {
        const message = `is missing: expected it too, since ${given} is given`;
        context.addIssue({ code: 'custom', path: [missing], message });
      }
      return undefined;
    }),
  INSTANCE_ID: z.string().max(200, { error: 'expected at most 200 characters' }),
});

/**
 * The settings in an environment. A setting that is the empty text is taken as not given.
 *
 * @throws BadSettings naming every setting that is missing or wrong
 */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  machine: { hostname: string; pid: number } = { hostname: hostname(), pid: process.pid },
): Settings {
  const env = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
  const parsed = settingsSchema.safeParse({
    storage: env,
    cosmos: env,
    serviceBus: env,
    telemetry: env,
    clientId: env,
    stripe: env,
    schedules: env,
    sharding: env,
    BATCH_SIZE: env.BATCH_SIZE,
    LEASE_SECONDS: env.LEASE_SECONDS,
    times: env,
    notify: env,
    INSTANCE_ID:
      env.INSTANCE_ID ??
      env.WEBSITE_INSTANCE_ID ??
      env.CONTAINER_NAME ??
      `${machine.hostname}-${machine.pid}`,
  });
  if (!parsed.success) {
    throw new BadSettings(
      parsed.error.issues.map(({ path, message }) => `${String(path.at(-1))}: ${message}`),
    );
  }
  const { storage, cosmos, serviceBus, stripe, schedules, sharding, times } = parsed.data;
  return Object.freeze({
    storage: Object.freeze(storage),
    cosmos: Object.freeze(cosmos),
    serviceBus: Object.freeze(serviceBus),
    telemetry: parsed.data.telemetry,
    clientId: parsed.data.clientId,
    stripe: Object.freeze(stripe),
    invoiceSchedule: schedules.INVOICE_SCHEDULE,
    outboxSchedule: schedules.OUTBOX_SCHEDULE,
    shards: sharding.SHARDS,
    shardGroups: sharding.SHARD_GROUPS,
    batchSize: parsed.data.BATCH_SIZE,
    leaseSeconds: parsed.data.LEASE_SECONDS,
    claimStaleSeconds: times.stale,
    paymentTimeoutSeconds: times.timeout,
    instanceId: parsed.data.INSTANCE_ID,
    notify: parsed.data.notify,
  });
}

function wholeNumber<Default extends number | undefined>(otherwise: Default, min: number, max: number) {
  return z
    .string()
    .optional()
    .transform((text, context): number | Default => {
      if (text === undefined) return otherwise;
      const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      context.addIssue(expected(`a whole number from ${min} to ${max}`, text));
      return z.NEVER;
    });
}

function schedule(otherwise: string) {
  return z
    .string()
    .default(otherwise)
    .transform((text, context) => {
      const error = ncrontabError(text);
      if (error !== undefined)
        context.addIssue(`${expected('an NCRONTAB expression', text)}, which ${error}`);
      return text.trim();
    });
}

function secretKey() {
  const error = 'expected a secret or restricted key of Stripe: sk_test_…, sk_live_…, rk_test_… or rk_live_…';
  return z
    .string({ error: (issue) => (issue.input === undefined ? `is missing: ${error}` : error) })
    .trim()
    .refine(isResolved, { error: notResolved, abort: true })
    .regex(/^[rs]k_(test|live)_\w+$/, { error });
}

function webhookUrl() {
  const error = 'expected an https address (http for this machine alone)';
  return z
    .string()
    .refine((text) => isHttps(text) || (isLoopback(text) && URL.parse(text)?.protocol === 'http:'), { error })
    .optional();
}

function webhookSecret() {
  return z
    .string()
    .trim()
    .refine(isResolved, { error: notResolved, abort: true })
    .min(24, { error: 'expected at least 24 characters' })
    .optional();
}

/**
 * The platform leaves a reference as it is where it cannot read the secret
 * (https://learn.microsoft.com/azure/app-service/app-service-key-vault-references).
 */
function isResolved(text: string): boolean {
  return !text.startsWith('@Microsoft.KeyVault(');
}

function isHttps(address: string): boolean {
  return URL.parse(address)?.protocol === 'https:';
}

function apiBase() {
  return z
    .string()
    .default(defaultApiBase)
    .transform((text, context) => {
      const url = URL.parse(text);
      if (url === null || url.pathname !== '/' || url.search + url.hash + url.username !== '') {
        context.addIssue(expected(`an address like ${defaultApiBase}, without a path`, text));
      } else if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(text))) {
        context.addIssue(
          expected('https: the key would travel in the clear; http is for this machine alone', text),
        );
      }
      return url?.origin ?? text;
    });
}

function isLive(key: string): boolean {
  return /^[rs]k_live_/.test(key);
}

function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname ?? '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
