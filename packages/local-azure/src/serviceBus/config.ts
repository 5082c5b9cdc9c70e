import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { QueueRules } from './broker/rules.ts';
import { parseDuration } from './duration.ts';

export interface QueueConfig {
  name: string;
  rules: QueueRules;
}

/** Lists every problem in a configuration file, one per line, each with the path of its field. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

const duration = (min: string, max?: string) =>
  z.string().transform((text, context) => {
    const ms = parseDuration(text);
    const [least = 0, most = Infinity] = [
      parseDuration(min),
      max === undefined ? undefined : parseDuration(max),
    ];
    if (ms !== undefined && ms >= least && ms <= most) return ms;
    const range = max === undefined ? `at least ${min}` : `${min} to ${max}`;
    context.addIssue({ code: 'custom', message: `expected an ISO 8601 duration, ${range}, got "${text}"` });
    return z.NEVER;
  });

/** The emulator writes an empty string for "none". Any other value asks for forwarding: not supported. */
const noForwarding = z.literal('', { error: 'forwarding to another queue is not supported' }).optional();

// Limits: https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas
const properties = z
  .strictObject({
    LockDuration: duration('PT1S', 'PT5M').default(60_000),
    MaxDeliveryCount: z.int().min(1).max(2000).default(10),
    RequiresSession: z.boolean().default(false),
    RequiresDuplicateDetection: z.boolean().default(false),
    DuplicateDetectionHistoryTimeWindow: duration('PT20S', 'P7D').default(60_000),
    DefaultMessageTimeToLive: duration('PT1S').default(14 * 24 * 3_600_000),
    DeadLetteringOnMessageExpiration: z.boolean().default(false),
    ForwardTo: noForwarding,
    ForwardDeadLetteredMessagesTo: noForwarding,
  })
  .prefault({});

const queue = z.strictObject({
  Name: z
    .string()
    .max(260)
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9_])?$/, 'expected only letters, digits and . - _ /')
    .refine((name) => !name.includes('$'), 'must not contain $'),
  Properties: properties,
});

const file = z.object({
  UserConfig: z.object({
    Namespaces: z
      .array(
        z.object({
          Queues: z.array(queue).default([]),
          Topics: z
            .array(z.unknown())
            .max(0, 'topics and subscriptions are not supported, only queues')
            .optional(),
        }),
      )
      .length(1, 'expected exactly one namespace, as in the official emulator'),
  }),
});

/**
 * Reads the queues from a file in the format of the official emulator's Config.json
 * (https://learn.microsoft.com/azure/service-bus-messaging/test-locally-with-service-bus-emulator), and adds others. An
 * unknown property is an error: it would otherwise be silently ignored.
 *
 * @throws {ConfigError}
 */
export function readConfig(
  path?: string | URL,
  added: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {},
): QueueConfig[] {
  const read = path === undefined ? [] : parseConfig(readJson(path), String(path));
  const Queues = Object.entries(added).map(([Name, Properties]) => ({ Name, Properties }));
  const further = parseConfig({ UserConfig: { Namespaces: [{ Queues }] } }, 'of the option queues');
  return [...read, ...further];
}

function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(`Service Bus configuration ${String(path)}: cannot be read as JSON`, { cause });
  }
}
export function parseConfig(json: unknown, origin: string): QueueConfig[] {
  const parsed = file.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
    throw new ConfigError(`Service Bus configuration ${origin}:\n${problems.join('\n')}`);
  }
  const queues = parsed.data.UserConfig.Namespaces.flatMap(({ Queues }) => Queues);
  const names = new Set<string>();
  for (const { Name } of queues) {
    if (names.has(Name.toLowerCase())) {
      throw new ConfigError(`Service Bus configuration ${origin}:\n  queue "${Name}" is defined twice`);
    }
    names.add(Name.toLowerCase());
  }
  return queues.map(({ Name, Properties: p }) => ({
    name: Name,
    rules: {
      lockMs: p.LockDuration,
      maxDeliveryCount: p.MaxDeliveryCount,
      requiresSession: p.RequiresSession,
      duplicateWindowMs: p.RequiresDuplicateDetection ? p.DuplicateDetectionHistoryTimeWindow : undefined,
      timeToLiveMs: p.DefaultMessageTimeToLive,
      deadLetterOnExpiry: p.DeadLetteringOnMessageExpiration,
    },
  }));
}
