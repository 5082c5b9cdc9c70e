/**
 * The management API as far as ServiceBusAdministrationClient needs it: Atom over HTTP
 * (https://learn.microsoft.com/rest/api/servicebus/entities). What clients create through it is kept as messages are.
 */
import { parseXML, stringifyXML } from '@azure/core-xml';
import { z } from 'zod';
import { signedWith } from './amqp/cbs.ts';
import type { AccessKey } from './amqp/peer.ts';
import { BadForwarding, type Broker, type Entity } from './broker/broker.ts';
import { type EntityConfig, entityOf } from './config.ts';
import { FilterError } from './filters/messageView.ts';
import { compileRule, type Rule, ruleSchema, type RuleValue } from './filters/rule.ts';

export interface AdministrationReply {
  status: number;
  body: string;
}

export interface AdministrationRequest {
  method: string;
  url: URL;
  /** Of the header `authorization`. */
  token: string | undefined;
  /** The entity must exist: the request changes it. */
  updates: boolean;
  body: string;
}

export interface Administration {
  broker: Broker;
  key: AccessKey;
  /** Links to a removed entity have to end. */
  endLinksTo: (entity: string) => void;
}

class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Answers one request. Refusals are answers, too. */
export async function administer(
  parts: Administration,
  request: AdministrationRequest,
): Promise<AdministrationReply> {
  try {
    requireToken(request.token, parts.key);
    return await perform(parts, request);
  } catch (error) {
    const status =
      error instanceof Refused
        ? error.status
        : error instanceof z.ZodError || error instanceof FilterError || error instanceof BadForwarding
          ? 400
          : undefined;
    if (status === undefined || !(error instanceof Error)) throw error;
    const detail = error instanceof z.ZodError ? z.prettifyError(error) : error.message;
    return { status, body: stringifyXML({ Code: status, Detail: detail }, { rootName: 'Error' }) };
  }
}

function requireToken(token: string | undefined, key: AccessKey): void {
  // A token of Microsoft Entra. Nobody here could check it.
  if (token?.startsWith('Bearer ')) return;
  if (token === undefined || !signedWith(token, key))
    throw new Refused(401, 'The token has an invalid signature, or there is none.');
}

/** `a/b/Subscriptions/s/Rules/r`: the path of an entity, and the name of a rule in it. */
const paths = /^\/(?<entity>.+?(?:\/subscriptions\/[^/]+)?)(?:\/rules\/(?<rule>[^/]+))?$/i;

async function perform(parts: Administration, request: AdministrationRequest): Promise<AdministrationReply> {
  const { broker } = parts;
  const { method, url } = request;
  const path = decodeURIComponent(url.pathname);
  if (method === 'GET') {
    if (/^\/\$namespaceinfo$/i.test(path)) return namespaceInfo(url);
    const listed = list(broker, path);
    if (listed !== undefined) return { status: 200, body: feed(url, listed) };
  }
  const { entity: name = '', rule } = paths.exec(path)?.groups ?? {};
  const entity = broker.entity(name);
  if (rule !== undefined) return performRule(broker, request, entity, rule);
  switch (method) {
    case 'GET':
      // As on the service: a feed without entries.
      return {
        status: 200,
        body: entity === undefined ? feed(url, []) : xmlOf(entry(url, name, describe(broker, entity))),
      };
    case 'PUT': {
      if (entity === undefined && request.updates) throw notFound(name);
      if (entity !== undefined && !request.updates)
        throw new Refused(409, `SubCode=40900. Conflict. The entity "${name}" already exists.`);
      const config = await readEntity(name, request.body, entity?.config);
      const parent = /^(.*)\/subscriptions\//i.exec(name)?.[1];
      if (parent !== undefined && broker.entity(parent)?.config.kind !== 'topic') throw notFound(parent);
      broker.requireForwarding(config);
      if (entity === undefined) broker.add(config);
      else broker.update(entity, config);
      broker.journal.putEntity(config);
      const put = broker.entity(name);
      if (put === undefined) throw notFound(name);
      return {
        status: entity === undefined ? 201 : 200,
        body: xmlOf(entry(url, name, describe(broker, put))),
      };
    }
    case 'DELETE': {
      if (entity === undefined) throw notFound(name);
      const removed = [entity, ...(entity.config.kind === 'topic' ? broker.subscriptionsOf(name) : [])];
      broker.remove(entity);
      for (const { config } of removed) broker.journal.removeEntity(config.name);
      parts.endLinksTo(entity.config.name);
      return { status: 200, body: '' };
    }
    default:
      throw new Refused(405, `${method} is not supported.`);
  }
}

const notFound = (name: string) =>
  new Refused(404, `SubCode=40400. Not Found. The entity "${name}" could not be found.`);

type Described = readonly [element: string, content: object];

/** The entities of a list: their paths and descriptions. Undefined if the path is no list. */
function list(broker: Broker, path: string): { path: string; described: Described }[] | undefined {
  const kind = /^\/\$resources\/(queue|topic)s\/?$/i.exec(path)?.[1]?.toLowerCase();
  const topic = /^\/(.+)\/subscriptions\/?$/i.exec(path)?.[1];
  const subscription = /^\/(.+\/subscriptions\/[^/]+)\/rules\/?$/i.exec(path)?.[1];
  if (subscription !== undefined) {
    const entity = broker.entity(subscription);
    if (entity === undefined) throw notFound(subscription);
    return entity.config.filters.map((rule) => ({
      path: `${subscription}/Rules/${rule.Name}`,
      described: describeRule(rule, entity),
    }));
  }
  if (topic !== undefined && broker.entity(topic) === undefined) throw notFound(topic);
  if (topic === undefined && kind === undefined) return undefined;
  const entities =
    topic === undefined
      ? broker.entities().filter(({ config }) => config.kind === kind)
      : broker.subscriptionsOf(topic);
  return entities.map((entity) => ({ path: entity.config.name, described: describe(broker, entity) }));
}

async function performRule(
  broker: Broker,
  { method, url, updates, body }: AdministrationRequest,
  entity: Entity | undefined,
  name: string,
): Promise<AdministrationReply> {
  if (entity === undefined) throw notFound(name);
  const { config } = entity;
  const path = `${config.name}/Rules/${name}`;
  const same = ({ Name }: Rule) => Name.toLowerCase() === name.toLowerCase();
  const known = config.filters.find(same);
  const others = config.filters.filter((rule) => !same(rule));
  if (method === 'GET')
    return {
      status: 200,
      body: known === undefined ? feed(url, []) : xmlOf(entry(url, path, describeRule(known, entity))),
    };
  if (method === 'PUT') {
    if (known !== undefined && !updates)
      throw new Refused(409, `SubCode=40900. Conflict. The rule "${name}" already exists.`);
    if (known === undefined && updates) throw notFound(path);
    const rule = readRule({ ...(await contentOf(body)), Name: name });
    broker.setRules(entity, [...others, rule]);
    return {
      status: known === undefined ? 201 : 200,
      body: xmlOf(entry(url, path, describeRule(rule, entity))),
    };
  }
  if (method !== 'DELETE') throw new Refused(405, `${method} is not supported.`);
  if (known === undefined) throw notFound(path);
  broker.setRules(entity, others);
  return { status: 200, body: '' };
}

type Xml = Record<string, unknown>;

/** The members of the description in an entry. */
async function contentOf(body: string): Promise<Xml & { element: string }> {
  const parsed = (await parseXML(body).catch(() => ({}))) as { content?: Xml };
  const [element, content] = Object.entries(parsed.content ?? {}).find(([name]) => name !== '$') ?? [];
  if (element === undefined) throw new Refused(400, 'The body is no Atom entry.');
  return { ...(content as Xml), element };
}

const kinds: Record<string, EntityConfig['kind']> = {
  QueueDescription: 'queue',
  TopicDescription: 'topic',
  SubscriptionDescription: 'subscription',
};

/** Kept and answered, without effect. */
const withoutEffect = new Set([
  'MaxSizeInMegabytes',
  'EnableBatchedOperations',
  'UserMetadata',
  'AutoDeleteOnIdle',
  'EnablePartitioning',
  'EnableExpress',
  'SupportOrdering',
  'DeadLetteringOnFilterEvaluationExceptions',
  'MaxMessageSizeInKilobytes',
  'EntityAvailabilityStatus',
  'AuthorizationRules',
]);
/** Set by the service, and sent back by who updates what it has read. */
const readOnly =
  /^(CountDetails|MessageCount|SizeInBytes|SubscriptionCount|(Created|Updated|Accessed)At|IsAnonymousAccessible|FilteringMessagesBeforePublishing|EnableSubscriptionPartitioning)$/;
const fixed = [
  'RequiresSession',
  'RequiresDuplicateDetection',
  'DuplicateDetectionHistoryTimeWindow',
] as const;

/** @throws {Refused} {z.ZodError} {FilterError} */
async function readEntity(
  name: string,
  body: string,
  before: EntityConfig | undefined,
): Promise<EntityConfig> {
  const { element, $: _, Status, DefaultRuleDescription, ...members } = await contentOf(body);
  const kind = kinds[element];
  if (kind === undefined || (kind === 'subscription') !== /\/subscriptions\//i.test(name))
    throw new Refused(400, `A ${element} cannot be at "${name}".`);
  if (before !== undefined && before.kind !== kind) throw new Refused(409, `"${name}" is a ${before.kind}.`);
  if (Status !== undefined && Status !== 'Active')
    throw new Refused(501, `The status ${JSON.stringify(Status)} is not supported here.`);
  const size = members.MaxMessageSizeInKilobytes;
  if (size !== undefined && !(Number(size) >= 1024 && Number(size) <= 102_400))
    throw new Refused(400, "The value for 'MaxMessageSizeInKilobytes' must be between 1024 and 102400.");
  const created = before === undefined ? createdWith(kind) : {};
  const given = Object.entries({ ...created, ...members })
    .filter(([key]) => !readOnly.test(key))
    .map(([key, value]) => [key, key.startsWith('Forward') ? addressOf(value) : value] as const);
  const effective = given
    .filter(([key]) => !withoutEffect.has(key))
    .map(([key, value]) => [key, typed(value)]);
  const filters =
    before?.filters ??
    (DefaultRuleDescription === undefined ? undefined : [readRule(DefaultRuleDescription as Xml)]);
  const read = entityOf(kind, before?.name ?? canonical(name), Object.fromEntries(effective), filters);
  const properties = {
    ...read.properties,
    ...Object.fromEntries(given.filter(([key]) => withoutEffect.has(key))),
  };
  for (const member of fixed)
    if (
      before !== undefined &&
      (properties[member] ?? defaults[member]) !== (before.properties[member] ?? defaults[member])
    )
      throw new Refused(400, `${member} cannot be changed.`);
  return { ...read, properties };
}

/** The service's defaults for a property that the creator leaves out. Those of Config.json are the official emulator's. */
const createdWith = (kind: EntityConfig['kind']) => ({
  DefaultMessageTimeToLive: 'P10675199DT2H48M5.4775807S',
  ...(kind === 'subscription' ? {} : { DuplicateDetectionHistoryTimeWindow: 'PT10M' }),
});

/** As on the service, scheme and host in lower case. */
const addressOf = (value: unknown) =>
  typeof value === 'string' ? value.replace(/^sb:\/\/[^/]*/i, (start) => start.toLowerCase()) : value;

const canonical = (name: string) => name.replace(/\/subscriptions\//i, '/Subscriptions/');

function typed(value: unknown): unknown {
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
}

const pairs = z.looseObject({
  KeyValueOfstringanyType: z.preprocess(
    (value) => (Array.isArray(value) ? value : [value]),
    z.array(
      z.looseObject({
        Key: z.string(),
        Value: z.looseObject({ $: z.record(z.string(), z.string()), _: z.string().default('') }),
      }),
    ),
  ),
});
const filterElement = z.looseObject({
  $: z.record(z.string(), z.string()),
  SqlExpression: z.string().optional(),
  Parameters: pairs.optional(),
  Properties: pairs.optional(),
});

const actionElement = z
  .looseObject({ SqlExpression: z.string().optional(), Parameters: pairs.optional() })
  .optional();

/** @throws {Refused} {z.ZodError} {FilterError} */
function readRule({ Name, Filter, Action }: Xml): Rule {
  const { $, SqlExpression, Parameters, Properties, ...fields } = filterElement.parse(Filter);
  const type = Object.entries($).find(([name]) => name.endsWith(':type'))?.[1];
  const action = actionElement.parse(Action);
  const rule = ruleSchema.parse({
    Name,
    Properties: {
      ...(type === 'CorrelationFilter'
        ? {
            FilterType: 'Correlation',
            CorrelationFilter: { ...texts(fields), Properties: valuesOf(Properties) },
          }
        : {
            FilterType: 'Sql',
            SqlFilter: {
              SqlExpression: SqlExpression ?? (type === 'FalseFilter' ? '1=0' : '1=1'),
              Parameters: valuesOf(Parameters),
            },
          }),
      ...(action?.SqlExpression === undefined
        ? {}
        : { Action: { SqlExpression: action.SqlExpression, Parameters: valuesOf(action.Parameters) } }),
    },
  });
  compileRule(rule);
  return rule;
}

const texts = (fields: Xml) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string' && value !== ''));

function valuesOf(of: z.output<typeof pairs> | undefined): Record<string, RuleValue> {
  return Object.fromEntries(
    (of?.KeyValueOfstringanyType ?? []).map(({ Key, Value: { $, _: text } }) => {
      const type = Object.entries($)
        .find(([name]) => name.endsWith(':type'))?.[1]
        ?.split(':')[1];
      if (type === 'string') return [Key, text];
      if (type === 'boolean') return [Key, text === 'true'];
      if (type === 'dateTime') return [Key, { DateTime: text }];
      if (type === 'double' || type === 'int' || type === 'long') return [Key, Number(text)];
      throw new Refused(501, `Values of the type ${type} are not supported in filters here.`);
    }),
  );
}

const iso = (ms: number) => new Date(ms).toISOString();
const elements = {
  queue: 'QueueDescription',
  topic: 'TopicDescription',
  subscription: 'SubscriptionDescription',
};

const defaults = {
  LockDuration: 'PT1M',
  MaxSizeInMegabytes: 1024,
  RequiresDuplicateDetection: false,
  RequiresSession: false,
  DefaultMessageTimeToLive: 'P14D',
  DeadLetteringOnMessageExpiration: false,
  DeadLetteringOnFilterEvaluationExceptions: true,
  DuplicateDetectionHistoryTimeWindow: 'PT1M',
  MaxDeliveryCount: 10,
  EnableBatchedOperations: true,
  EnablePartitioning: false,
  EnableExpress: false,
  SupportOrdering: true,
  AutoDeleteOnIdle: 'P10675199DT2H48M5.4775807S',
  EntityAvailabilityStatus: 'Available',
};

function describe(broker: Broker, { config, queue, createdAt, updatedAt }: Entity): Described {
  queue.advance(broker.now());
  const { ready, locked, deferred, scheduled } = queue.counts;
  const dead = queue.deadLetters?.counts;
  const deadLettered = dead === undefined ? 0 : dead.ready + dead.locked + dead.deferred;
  const active = ready + locked + deferred;
  const content = {
    ...defaults,
    ...config.properties,
    Status: 'Active',
    SizeInBytes: 0,
    MessageCount: active + scheduled + deadLettered,
    SubscriptionCount: broker.subscriptionsOf(config.name).length,
    CreatedAt: iso(createdAt),
    UpdatedAt: iso(updatedAt),
    AccessedAt: iso(updatedAt),
    CountDetails: {
      $: { 'xmlns:d2p1': 'http://schemas.microsoft.com/netservices/2011/06/servicebus' },
      'd2p1:ActiveMessageCount': active,
      'd2p1:DeadLetterMessageCount': deadLettered,
      'd2p1:ScheduledMessageCount': scheduled,
      'd2p1:TransferMessageCount': 0,
      'd2p1:TransferDeadLetterMessageCount': 0,
    },
  };
  return [elements[config.kind], content];
}

function describeRule({ Name, Properties }: Rule, { createdAt }: Entity): Described {
  const { SqlFilter, CorrelationFilter, Action } = Properties;
  const { Properties: application = {}, ...system } = CorrelationFilter ?? {};
  const filter =
    SqlFilter === undefined
      ? { $: { 'i:type': 'CorrelationFilter' }, ...system, ...pairsOf('Properties', application) }
      : {
          $: { 'i:type': 'SqlFilter' },
          SqlExpression: SqlFilter.SqlExpression,
          CompatibilityLevel: 20,
          ...pairsOf('Parameters', SqlFilter.Parameters),
        };
  const action =
    Action === undefined
      ? { $: { 'i:type': 'EmptyRuleAction' } }
      : {
          $: { 'i:type': 'SqlRuleAction' },
          SqlExpression: Action.SqlExpression,
          CompatibilityLevel: 20,
          ...pairsOf('Parameters', Action.Parameters),
        };
  return ['RuleDescription', { Filter: filter, Action: action, CreatedAt: iso(createdAt), Name }];
}

function pairsOf(name: string, values: Record<string, RuleValue>): Xml {
  const entries = Object.entries(values);
  if (entries.length === 0) return {};
  const xsd = { 'xmlns:d6p1': 'http://www.w3.org/2001/XMLSchema' };
  const type = (value: RuleValue) =>
    typeof value === 'number' ? 'double' : typeof value === 'object' ? 'dateTime' : typeof value;
  return {
    [name]: {
      KeyValueOfstringanyType: entries.map(([Key, value]) => ({
        Key,
        Value: {
          $: { 'i:type': `d6p1:${type(value)}`, ...xsd },
          _: String(typeof value === 'object' ? value.DateTime : value),
        },
      })),
    },
  };
}

const atom = 'http://www.w3.org/2005/Atom';

function entry({ host }: URL, path: string, [element, content]: Described): Xml {
  const namespaces = {
    xmlns: 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect',
    'xmlns:i': 'http://www.w3.org/2001/XMLSchema-instance',
  };
  return {
    $: { xmlns: atom },
    id: `https://${host}/${path}`,
    title: path,
    content: { $: { type: 'application/xml' }, [element]: { $: namespaces, ...content } },
  };
}

const xmlOf = (of: Xml) => stringifyXML(of, { rootName: 'entry' });

/** A page of a list: `$skip` and `$top` choose it. */
function feed(url: URL, listed: readonly { path: string; described: Described }[]): string {
  const skip = Number(url.searchParams.get('$skip') ?? 0);
  const top = Number(url.searchParams.get('$top') ?? 100);
  const page = listed.slice(skip, skip + top);
  const next = new URL(url);
  next.searchParams.set('$skip', String(skip + top));
  const links = [
    { $: { rel: 'self', href: url.href } },
    ...(skip + top < listed.length ? [{ $: { rel: 'next', href: next.href } }] : []),
  ];
  const entries = page.map(({ path, described }) => entry(url, path, described));
  return stringifyXML(
    { $: { xmlns: atom }, title: 'entities', id: url.href, link: links, entry: entries },
    { rootName: 'feed' },
  );
}

function namespaceInfo(url: URL): AdministrationReply {
  const content = { CreatedTime: iso(0), MessagingSKU: 'Standard', ModifiedTime: iso(0), Name: 'local' };
  return { status: 200, body: xmlOf(entry(url, '$namespaceinfo', ['NamespaceInfo', content])) };
}
