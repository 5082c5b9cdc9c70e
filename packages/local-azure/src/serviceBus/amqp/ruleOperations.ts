import { z } from 'zod';
import type { Entity } from '../broker/broker.ts';
import { compileRule, type Rule, ruleSchema, type RuleValue } from '../filters/rule.ts';
import { type Call, empty, type Operation, ok, Refusal } from './managementCall.ts';
import { type Typed, types } from './rhea.ts';

const text = z.string().nullish();
const expression = z.object({ expression: z.string() });
const property = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.date().transform((date) => ({ DateTime: date.toISOString() })),
]);

/** The fields of a correlation filter in the order of its list, with their names in a rule. */
const correlationFields = [
  ['correlation-id', 'CorrelationId'],
  ['message-id', 'MessageId'],
  ['to', 'To'],
  ['reply-to', 'ReplyTo'],
  ['label', 'Label'],
  ['session-id', 'SessionId'],
  ['reply-to-session-id', 'ReplyToSessionId'],
  ['content-type', 'ContentType'],
] as const;

const requests = {
  add: z.object({
    'rule-name': z.string(),
    'rule-description': z.object({
      'sql-filter': expression.nullish(),
      'correlation-filter': z.looseObject({ properties: z.record(z.string(), property).nullish() }).nullish(),
      'sql-rule-action': expression.nullish(),
    }),
  }),
  remove: z.object({ 'rule-name': z.string() }),
  list: z.object({ top: z.int(), skip: z.int() }),
};

/** Codes of described lists. */
const codes = {
  rule: 0x137_0000_0004,
  noAction: 0x137_0000_0005,
  sqlAction: 0x137_0000_0006,
  sqlFilter: 0x13_7000_0006,
  correlationFilter: 0x13_7000_0009,
};

/** Operations on the rules of a subscription. */
export const ruleOperations: Record<string, Operation> = {
  'com.microsoft:add-rule': (call) => {
    const subscription = subscriptionOf(call);
    const { 'rule-name': name, 'rule-description': description } = requests.add.parse(call.body);
    const { filters } = subscription.config;
    if (filters.some(({ Name }) => Name.toLowerCase() === name.toLowerCase())) {
      const path = `${call.queue.name}/Rules/${name}`;
      throw new Refusal(
        409,
        'com.microsoft:entity-already-exists',
        `The messaging entity '${path}' already exists.`,
      );
    }
    const { 'sql-filter': sql, 'correlation-filter': correlation, 'sql-rule-action': action } = description;
    const { properties, ...fields } = correlation ?? {};
    const system = correlationFields.flatMap(([field, own]) => {
      const given = text.parse(fields[field]) ?? undefined;
      return given === undefined ? [] : [[own, given]];
    });
    const rule = ruleSchema.parse({
      Name: name,
      Properties: {
        ...(sql == null
          ? {
              FilterType: 'Correlation',
              CorrelationFilter: { ...Object.fromEntries(system), Properties: properties ?? {} },
            }
          : { FilterType: 'Sql', SqlFilter: { SqlExpression: sql.expression } }),
        ...(action == null ? {} : { Action: { SqlExpression: action.expression } }),
      },
    });
    compileRule(rule);
    call.broker.setRules(subscription, [...filters, rule]);
    return ok();
  },

  'com.microsoft:remove-rule': (call) => {
    const subscription = subscriptionOf(call);
    const name = requests.remove.parse(call.body)['rule-name'];
    const { filters } = subscription.config;
    const others = filters.filter(({ Name }) => Name.toLowerCase() !== name.toLowerCase());
    if (others.length === filters.length) {
      const path = `${call.queue.name}/Rules/${name}`;
      throw new Refusal(404, 'amqp:not-found', `The messaging entity '${path}' could not be found.`);
    }
    call.broker.setRules(subscription, others);
    return ok();
  },

  'com.microsoft:enumerate-rules': (call) => {
    const subscription = subscriptionOf(call);
    const { top, skip } = requests.list.parse(call.body);
    const rules = subscription.config.filters
      .toSorted((a, b) => (a.Name < b.Name ? -1 : 1))
      .slice(skip, skip + top);
    if (rules.length === 0) return empty;
    return ok({
      rules: rules.map((rule) => ({ 'rule-description': describe(rule, subscription.createdAt) })),
    });
  },
};

/** @throws {Refusal} */
function subscriptionOf({ broker, queue }: Call): Entity {
  const entity = broker.entity(queue.name);
  if (entity?.config.kind !== 'subscription')
    throw new Refusal(400, 'amqp:not-allowed', `"${queue.name}" is no subscription: it has no rules.`);
  return entity;
}

function describe({ Name, Properties }: Rule, createdAt: number): Typed {
  const { SqlFilter, CorrelationFilter, Action } = Properties;
  const filter =
    SqlFilter === undefined
      ? list(codes.correlationFilter, [
          ...correlationFields.map(([, own]) => optional(CorrelationFilter?.[own])),
          valuesOf(CorrelationFilter?.Properties ?? {}),
        ])
      : list(codes.sqlFilter, [types.wrap_string(SqlFilter.SqlExpression), types.wrap_int(20)]);
  const action =
    Action === undefined
      ? list(codes.noAction, [])
      : list(codes.sqlAction, [types.wrap_string(Action.SqlExpression), types.wrap_int(20)]);
  return list(codes.rule, [filter, action, types.wrap_string(Name), types.wrap_timestamp(createdAt)]);
}

const list = (code: number, items: Typed[]) =>
  types.described(types.wrap_ulong(code), types.wrap_list(items));

const optional = (value: string | undefined) =>
  value === undefined ? types.wrap(null) : types.wrap_string(value);

const valuesOf = (values: Record<string, RuleValue>) =>
  types.wrap_map(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        typeof value === 'object' ? types.wrap_timestamp(Date.parse(value.DateTime)) : value,
      ]),
    ),
  );
