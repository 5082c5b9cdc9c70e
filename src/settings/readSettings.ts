import { hostname } from 'node:os';
import { z } from 'zod';
import { longestTimeoutMs } from '../paying/payingPolicy.ts';
import { mostBatch } from '../paying/paymentBatch.ts';
import { isLiveKey } from '../stripe/stripeClient.ts';
import { isLoopback } from './addresses.ts';
import { clientId, cosmosConnection, serviceBusConnection, storageConnection } from './connections.ts';
import { type Env, withoutBlanks } from './environment.ts';
import {
  apiBase,
  stripeKey,
  stripeWebhookSecrets,
  webhookSecret,
  webhookUrl,
  wholeNumber,
} from './fields.ts';
import { expected } from './findings.ts';
import { lockAddress } from './lockAddress.ts';
import { scheduleFields } from './readParts.ts';
import { BadSettings, type Settings } from './settings.ts';
import { telemetryConnection, traceSettings } from './telemetrySettings.ts';

const defaultPaymentTimeout = 30;

/** Calls per second that Stripe allows one account by default, by the mode of its key (https://docs.stripe.com/rate-limits). */
const stripeAccountRate = { live: 100, test: 25 };

/** Settings that must fit each other share a schema, so that their rule is checked whatever else is wrong. */
const settingsSchema = z.object({
  storage: storageConnection,
  cosmos: cosmosConnection,
  serviceBus: serviceBusConnection,
  telemetry: telemetryConnection,
  traces: traceSettings,
  clientId,
  stripe: z
    .object({ STRIPE_SECRET_KEY: stripeKey(), STRIPE_API_BASE: apiBase('https://api.stripe.com') })
    .refine(
      ({ STRIPE_SECRET_KEY, STRIPE_API_BASE }) =>
        !(isLiveKey(STRIPE_SECRET_KEY) && isLoopback(STRIPE_API_BASE)),
      {
        path: ['STRIPE_SECRET_KEY'],
        error: 'expected a test key (sk_test_…), because STRIPE_API_BASE is this machine, not Stripe',
      },
    )
    .transform(({ STRIPE_SECRET_KEY: secretKey, STRIPE_API_BASE: apiBase }) => ({ secretKey, apiBase })),
  STRIPE_WEBHOOK_SECRETS: stripeWebhookSecrets(),
  schedules: z.object(scheduleFields).transform((given) => ({
    invoiceSchedule: given.INVOICE_SCHEDULE,
    outboxSchedule: given.OUTBOX_SCHEDULE,
  })),
  sharding: z
    .object({ SHARDS: wholeNumber(16, 1, 256), SHARD_GROUPS: wholeNumber(4, 1, 256) })
    .refine(({ SHARDS, SHARD_GROUPS }) => SHARD_GROUPS <= SHARDS, {
      path: ['SHARD_GROUPS'],
      error: 'expected at most as many groups as SHARDS: a group without a shard has no work',
    })
    .transform(({ SHARDS: shards, SHARD_GROUPS: shardGroups }) => ({ shards, shardGroups })),
  // A batch is one Cosmos transaction: at most 100 operations, and some of them are not invoices.
  BATCH_SIZE: wholeNumber(50, 1, mostBatch),
  // Cards can be disputed for 120 days, some debits for 13 months (docs/retention.md).
  KEEP_DAYS: wholeNumber(400, 30, 36_500),
  // The lease times that Blob Storage grants (https://learn.microsoft.com/rest/api/storageservices/lease-blob).
  leases: z
    .object({ LEASE_SECONDS: wholeNumber(30, 15, 60), LOCKS: lockAddress })
    .refine(({ LEASE_SECONDS, LOCKS }) => LOCKS.kind !== 'service-bus' || LEASE_SECONDS === 30, {
      path: ['LEASE_SECONDS'],
      error: 'expected 30, because LOCKS is service-bus: a session lock lasts as long as its queue says',
    })
    .transform(({ LEASE_SECONDS: leaseSeconds, LOCKS: locks }) => ({ leaseSeconds, locks })),
  times: z
    .object({
      CLAIM_STALE_SECONDS: wholeNumber(300, 5, 86_400),
      PAYMENT_TIMEOUT_SECONDS: wholeNumber(undefined, 1, 80),
    })
    .transform(({ CLAIM_STALE_SECONDS: stale, PAYMENT_TIMEOUT_SECONDS: timeout }, context) => {
      const longest = Math.floor(longestTimeoutMs(stale * 1000) / 1000);
      if (timeout !== undefined && timeout > longest) {
        const most = `at most ${longest} (CLAIM_STALE_SECONDS is ${stale})`;
        const why = 'a longer timeout leaves no time to start a payment before its claim goes stale';
        const message = `${expected(most, `${timeout}`)}: ${why}`;
        context.addIssue({ code: 'custom', path: ['PAYMENT_TIMEOUT_SECONDS'], message });
      }
      return {
        claimStaleSeconds: stale,
        paymentTimeoutSeconds: timeout ?? Math.min(defaultPaymentTimeout, longest),
      };
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
        const message = `is missing: expected both or neither, and ${given} is set`;
        context.addIssue({ code: 'custom', path: [missing], message });
      }
      return undefined;
    }),
  // Charges per second that Stripe allows by default (https://docs.stripe.com/rate-limits).
  PAYMENT_RATE: wholeNumber(25, 1, 10_000),
  DEPLOYMENT_ID: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{1,31}$/, { error: 'expected 2 to 32 lower-case letters, digits or hyphens' })
    .optional(),
  INSTANCE_ID: z.string().max(200, { error: 'expected at most 200 characters' }),
  // App Service says so only while its sign-in is on, and not for sure on every plan.
  signIn: z
    .object({
      WEBSITE_AUTH_ENABLED: z.string().optional(),
      OPS_SIGN_IN: z.literal('required', { error: 'expected required, or nothing' }).optional(),
    })
    .transform(({ WEBSITE_AUTH_ENABLED: on, OPS_SIGN_IN: needed }) => {
      if (on?.toLowerCase() === 'true') return 'platform' as const;
      return needed === undefined ? ('none' as const) : ('missing' as const);
    }),
});

/**
 * Reads the settings from an environment. A blank setting counts as not set.
 *
 * @throws BadSettings naming every setting that is missing or wrong
 */
export function readSettings(
  environment: Env,
  machine: { hostname: string; pid: number } = { hostname: hostname(), pid: process.pid },
): Settings {
  const env = withoutBlanks(environment);
  const INSTANCE_ID =
    env.INSTANCE_ID ?? env.WEBSITE_INSTANCE_ID ?? env.CONTAINER_NAME ?? `${machine.hostname}-${machine.pid}`;
  // A field in capitals is named like the one setting that it reads; the others read several.
  const given = Object.keys(settingsSchema.shape).map((name) => [name, /[a-z]/.test(name) ? env : env[name]]);
  const parsed = settingsSchema.safeParse({ ...Object.fromEntries(given), INSTANCE_ID });
  if (!parsed.success) {
    throw new BadSettings(
      parsed.error.issues.map(({ path, message }) => `${String(path.at(-1))}: ${message}`),
    );
  }
  const { schedules, sharding, leases, times, ...single } = parsed.data;
  const {
    STRIPE_WEBHOOK_SECRETS: webhookSecrets,
    BATCH_SIZE: batchSize,
    KEEP_DAYS: keepDays,
    PAYMENT_RATE: rate,
    DEPLOYMENT_ID: deploymentId,
    INSTANCE_ID: instanceId,
    ...others
  } = single;
  const ofAccount = stripeAccountRate[isLiveKey(others.stripe.secretKey) ? 'live' : 'test'];
  const allowance = { rate, accountRate: Math.max(rate, ofAccount) };
  const named = { webhookSecrets, batchSize, keepDays, allowance, deploymentId, instanceId };
  const { WEBSITE_SITE_NAME: site = 'local' } = env;
  return { ...others, ...schedules, ...sharding, ...leases, ...times, ...named, environment: site };
}
