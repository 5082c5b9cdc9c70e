import { z } from 'zod';
import { isHttps, isLoopbackHttp } from './addresses.ts';
import { expected, missing } from './findings.ts';

/**
 * If the platform cannot read a secret, it leaves the reference to it in the setting
 * (https://learn.microsoft.com/azure/app-service/app-service-key-vault-references).
 */
export const resolved = z.refine<string>((text) => !text.startsWith('@Microsoft.KeyVault('), {
  error: "is an unresolved Key Vault reference: the secret, or the app's role on the vault, is missing",
  abort: true,
});

export function wholeNumber<Default extends number | undefined>(fallback: Default, min: number, max: number) {
  return z
    .string()
    .optional()
    .transform((text, context): number | Default => {
      if (text === undefined) return fallback;
      const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
      if (value >= min && value <= max) return value;
      context.addIssue(expected(`a whole number from ${min} to ${max}`, text));
      return z.NEVER;
    });
}

const months = 'january february march april may june july august september october november december';
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday';

/** Range of each field, and names for its values (https://github.com/atifaziz/NCrontab/wiki/Crontab-Expression). */
const scheduleFields = [
  { min: 0, max: 59 },
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months.split(' ') },
  { min: 0, max: 6, names: weekdays.split(' ') },
];

/** NCRONTAB with seconds. The host would leave out a function whose schedule it refuses, and run the others. */
export function schedule(fallback: string) {
  return z
    .string()
    .trim()
    .refine(isSchedule, {
      error: ({ input }) =>
        expected(
          'an NCRONTAB expression, {second} {minute} {hour} {day} {month} {day of week}',
          String(input),
        ),
    })
    .default(fallback);
}

function isSchedule(text: string): boolean {
  const fields = text.split(/\s+/);
  return (
    fields.length === scheduleFields.length &&
    scheduleFields.every((range, index) => fields[index]?.split(',').every((part) => isWithin(part, range)))
  );
}

function isWithin(part: string, { min, max, names = [] }: (typeof scheduleFields)[number]): boolean {
  const values = /^(\*|\w+(-\w+)?)(\/[1-9]\d*)?$/.exec(part)?.[1]?.split('-') ?? [''];
  return values.every((value) => {
    if (/^\d+$/.test(value)) return Number(value) >= min && Number(value) <= max;
    // The host takes any beginning of a name.
    return value === '*' || (value !== '' && names.some((name) => name.startsWith(value.toLowerCase())));
  });
}

export function stripeKey() {
  const key = 'a Stripe secret or restricted key: sk_test_…, sk_live_…, rk_test_… or rk_live_…';
  return z
    .string({ error: (issue) => (issue.input === undefined ? missing(key) : `expected ${key}`) })
    .trim()
    .check(resolved)
    .regex(/^[rs]k_(test|live)_\w+$/, { error: `expected ${key}` });
}

/** The scheme, host and port of an API: no path, no trailing slash. */
export function apiBase(fallback: string) {
  return z
    .string()
    .default(fallback)
    .transform((text, context) => {
      const url = URL.parse(text);
      if (url?.pathname !== '/' || url.search + url.hash + url.username + url.password !== '') {
        context.addIssue(expected(`an address like ${fallback}, without a path`, text));
      } else if (!isHttps(text) && !isLoopbackHttp(text)) {
        context.addIssue(
          expected('https (http would send the key in the clear; only this machine may use it)', text),
        );
      }
      return url?.origin ?? text;
    });
}

export function webhookUrl() {
  return (
    z
      .string()
      .refine((text) => isHttps(text) || isLoopbackHttp(text), {
        abort: true,
        error: 'expected an https address (http only for this machine)',
      })
      // `fetch` refuses it at each delivery, with an error that repeats the password.
      .refine((text) => URL.parse(text)?.username === '' && URL.parse(text)?.password === '', {
        error: 'expected an address without a user and password: notifications are signed instead',
      })
      .optional()
  );
}

export function webhookSecret() {
  return z
    .string()
    .trim()
    .check(resolved)
    .min(24, { error: 'expected at least 24 characters' })
    .refine(isSigningKey, {
      error: `expected base64 of at least ${leastKeyBytes} bytes after whsec_, or a text without that prefix`,
    })
    .optional();
}

/** The secrets of Stripe's webhook endpoints, separated by commas (https://docs.stripe.com/webhooks#verify-official-libraries). */
export function stripeWebhookSecrets() {
  return z
    .string()
    .default('')
    .check(resolved)
    .transform((text) => text.split(',').map((secret) => secret.trim()))
    .transform((secrets, context) => {
      const given = secrets.filter((secret) => secret !== '');
      if (given.every((secret) => /^whsec_[\w+/=-]{10,}$/.test(secret))) return given;
      const message = 'expected signing secrets of Stripe webhook endpoints, whsec_…, separated by commas';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    });
}

/** Standard Webhooks asks for 24 to 64 bytes (https://www.standardwebhooks.com); shorter keys that are in use go on. */
const leastKeyBytes = 16;

/** A secret with the prefix of Standard Webhooks must be base64: Node reads what is not base64 as an empty key. */
function isSigningKey(secret: string): boolean {
  const [, encoded] = /^whsec_(.*)$/s.exec(secret) ?? [];
  if (encoded === undefined) return true;
  return /^[\w+/-]+={0,2}$/.test(encoded) && Buffer.from(encoded, 'base64').length >= leastKeyBytes;
}
