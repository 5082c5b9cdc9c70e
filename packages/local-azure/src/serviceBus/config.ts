import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { QueueRules } from './broker/rules.ts';
import { parseDuration } from './duration.ts';
import { compileRule, everything, type Rule, ruleSchema } from './filters/rule.ts';

export interface EntityConfig {
  kind: 'queue' | 'topic' | 'subscription';
  /** Of a subscription: `topic/Subscriptions/name`. */
  name: string;
  rules: QueueRules;
  /** As they were given, named as in Config.json. */
  properties: Readonly<Record<string, unknown>>;
  /** Of a subscription. It takes the messages that any of these takes. */
  filters: readonly Rule[];
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

/** The emulator writes an empty string for "none", the administration client an address. */
const forward = z
  .string()
  .transform((text) => text.replace(/^sb:\/\/[^/]*\//i, '') || undefined)
  .optional();

// Limits: https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas
const ofQueue = z.strictObject({
  LockDuration: duration('PT1S', 'PT5M').default(60_000),
  MaxDeliveryCount: z.int().min(1).max(2000).default(10),
  RequiresSession: z.boolean().default(false),
  RequiresDuplicateDetection: z.boolean().default(false),
  DuplicateDetectionHistoryTimeWindow: duration('PT20S', 'P7D').default(60_000),
  DefaultMessageTimeToLive: duration('PT1S').default(14 * 24 * 3_600_000),
  DeadLetteringOnMessageExpiration: z.boolean().default(false),
  ForwardTo: forward,
  ForwardDeadLetteredMessagesTo: forward,
});
const duplicates = { RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: true } as const;
const propertiesOf = {
  queue: ofQueue,
  topic: ofQueue.pick({ ...duplicates, DefaultMessageTimeToLive: true }),
  subscription: ofQueue.omit(duplicates),
};

const entityName = z
  .string()
  .max(260)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9_])?$/, 'expected only letters, digits and . - _ /')
  .refine((name) => !/\/subscriptions(\/|$)/i.test(name), 'must not contain /Subscriptions');
const subscriptionName = z
  .string()
  .max(50)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?$/, 'expected only letters, digits and . - _');

const given = <Kind extends EntityConfig['kind']>(kind: Kind) =>
  z
    .record(z.string(), z.unknown())
    .default({})
    .superRefine((value, context) => {
      const { error } = propertiesOf[kind].safeParse(value);
      for (const issue of error?.issues ?? []) context.addIssue({ ...issue, code: 'custom' });
    });

const queue = z.strictObject({ Name: entityName, Properties: given('queue') });
const subscription = z.strictObject({
  Name: subscriptionName,
  Properties: given('subscription'),
  Rules: z
    .array(
      ruleSchema.superRefine((rule, context) => {
        try {
          compileRule(rule);
        } catch (error) {
          context.addIssue({
            code: 'custom',
            message: error instanceof Error ? error.message : String(error),
          });
        }
      }),
    )
    .default([]),
});
const topic = z.strictObject({
  Name: entityName,
  Properties: given('topic'),
  Subscriptions: z.array(subscription).default([]),
});

const file = z.object({
  UserConfig: z.object({
    Namespaces: z
      .array(z.object({ Queues: z.array(queue).default([]), Topics: z.array(topic).default([]) }))
      .length(1, 'expected exactly one namespace, as in the official emulator'),
  }),
});

/**
 * Reads queues and topics from a file in the format of the official emulator's Config.json
 * (https://learn.microsoft.com/azure/service-bus-messaging/test-locally-with-service-bus-emulator), and adds others. An
 * unknown property is an error: it would otherwise be silently ignored.
 *
 * @param config a file, or its content
 * @throws {ConfigError}
 */
export function readConfig(
  config?: string | URL | object,
  added: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {},
): EntityConfig[] {
  const isFile = typeof config === 'string' || config instanceof URL;
  const read =
    config === undefined
      ? []
      : parseConfig(isFile ? readJson(config) : config, isFile ? String(config) : 'given');
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

export function parseConfig(json: unknown, origin: string): EntityConfig[] {
  const parsed = file.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
    throw new ConfigError(`Service Bus configuration ${origin}:\n${problems.join('\n')}`);
  }
  const entities = parsed.data.UserConfig.Namespaces.flatMap(({ Queues, Topics }) => [
    ...Queues.map(({ Name, Properties }) => entityOf('queue', Name, Properties)),
    ...Topics.flatMap(({ Name, Properties, Subscriptions }) => [
      entityOf('topic', Name, Properties),
      ...Subscriptions.map((each) =>
        entityOf(
          'subscription',
          subscriptionPath(Name, each.Name),
          each.Properties,
          each.Rules.length === 0 ? undefined : each.Rules,
        ),
      ),
    ]),
  ]);
  const names = new Set<string>();
  for (const { kind, name } of entities) {
    if (names.has(name.toLowerCase())) {
      throw new ConfigError(`Service Bus configuration ${origin}:\n  ${kind} "${name}" is defined twice`);
    }
    names.add(name.toLowerCase());
  }
  return entities;
}

export const subscriptionPath = (topicName: string, name: string) => `${topicName}/Subscriptions/${name}`;

/**
 * One queue, topic or subscription. A subscription takes every message unless rules are given; with none of them it takes none.
 *
 * @throws {z.ZodError} for a name or property that is not valid
 */
export function entityOf(
  kind: EntityConfig['kind'],
  name: string,
  properties: Readonly<Record<string, unknown>>,
  filters: readonly Rule[] = kind === 'subscription' ? [everything] : [],
): EntityConfig {
  const [parent = '', own] = name.split('/Subscriptions/');
  entityName.parse(parent);
  if (own !== undefined) subscriptionName.parse(own);
  propertiesOf[kind].parse(properties);
  const p = ofQueue.parse(properties);
  return {
    kind,
    name,
    properties,
    filters,
    rules: {
      lockMs: p.LockDuration,
      maxDeliveryCount: p.MaxDeliveryCount,
      requiresSession: p.RequiresSession,
      duplicateWindowMs: p.RequiresDuplicateDetection ? p.DuplicateDetectionHistoryTimeWindow : undefined,
      timeToLiveMs: p.DefaultMessageTimeToLive,
      deadLetterOnExpiry: p.DeadLetteringOnMessageExpiration,
      forwardTo: p.ForwardTo,
      forwardDeadLettersTo: p.ForwardDeadLetteredMessagesTo,
    },
  };
}
