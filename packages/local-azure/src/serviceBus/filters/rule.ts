import { z } from 'zod';
import { withApplicationProperty, withField } from '../amqp/codec.ts';
import { types } from '../amqp/rhea.ts';
import type { IncomingMessage } from '../broker/message.ts';
import {
  FilterError,
  filterView,
  type MessageView,
  type SystemField,
  systemProperty,
} from './messageView.ts';
import { compileSql, type FilterValue, parseChanges, type PropertyName } from './sqlFilter.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.strictObject({ DateTime: z.iso.datetime() })]);
const values = z.record(z.string(), value).default({});

export type RuleValue = z.output<typeof value>;

const correlation = z.strictObject({
  ContentType: z.string().optional(),
  CorrelationId: z.string().optional(),
  Label: z.string().optional(),
  MessageId: z.string().optional(),
  ReplyTo: z.string().optional(),
  ReplyToSessionId: z.string().optional(),
  SessionId: z.string().optional(),
  To: z.string().optional(),
  Properties: values,
});

/** A rule of a subscription, with the names of the official emulator's Config.json. */
export const ruleSchema = z.strictObject({
  Name: z.string().min(1).max(50),
  Properties: z.strictObject({
    FilterType: z.enum(['Sql', 'Correlation']),
    SqlFilter: z.strictObject({ SqlExpression: z.string().max(1024), Parameters: values }).optional(),
    CorrelationFilter: correlation.optional(),
    Action: z.strictObject({ SqlExpression: z.string().max(1024), Parameters: values }).optional(),
  }),
});

export type Rule = z.output<typeof ruleSchema>;

/** The rule of a subscription for which none is named: it takes every message. */
export const everything: Rule = {
  Name: '$Default',
  Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=1', Parameters: {} } },
};

export interface CompiledRule {
  takes: (message: MessageView) => boolean;
  /** The rule's action: makes a copy of a message that it takes. */
  change?: <Taken extends IncomingMessage>(message: Taken) => Taken;
}

/** @throws {FilterError} */
export function compileRule({ Name, Properties }: Rule): CompiledRule {
  const { FilterType, SqlFilter, CorrelationFilter, Action } = Properties;
  const change = Action === undefined ? {} : { change: compileAction(Name, Action) };
  if (FilterType === 'Sql') {
    if (SqlFilter === undefined) throw new FilterError('a rule of the type Sql needs SqlFilter');
    return { takes: compileSql(SqlFilter.SqlExpression, comparable(SqlFilter.Parameters)), ...change };
  }
  if (CorrelationFilter === undefined)
    throw new FilterError('a rule of the type Correlation needs CorrelationFilter');
  const { Properties: application, ...system } = CorrelationFilter;
  const wanted = Object.entries(system).map(([name, text]) => [systemProperty(name), text] as const);
  const named = Object.entries(comparable(application));
  if (wanted.length + named.length === 0) throw new FilterError('a correlation filter needs a property');
  const takes = (message: MessageView) =>
    wanted.every(([field, text]) => message.system(field) === text) &&
    named.every(([name, expected]) => message.application(name) === expected);
  return { takes, ...change };
}

/** Times as milliseconds, as filters see those of messages. */
const comparable = (given: Record<string, RuleValue>): Record<string, FilterValue> =>
  Object.fromEntries(
    Object.entries(given).map(([name, one]) => [
      name,
      typeof one === 'object' ? Date.parse(one.DateTime) : one,
    ]),
  );

/** Places in the AMQP properties of a message. */
const fieldPlaces: Record<SystemField, number> = {
  message_id: 0,
  to: 2,
  subject: 3,
  reply_to: 4,
  correlation_id: 5,
  content_type: 6,
  group_id: 10,
  reply_to_group_id: 12,
};

/** As on the service, each copy says in the property `RuleName` whose it is. @throws {FilterError} */
function compileAction(
  rule: string,
  { SqlExpression, Parameters }: { SqlExpression: string; Parameters: Record<string, RuleValue> },
): NonNullable<CompiledRule['change']> {
  const changes = parseChanges(SqlExpression, comparable(Parameters));
  return (message) => {
    let copy = withProperty(message, { application: 'RuleName' }, rule);
    for (const { property, value: of } of changes) copy = withProperty(copy, property, of(filterView(copy)));
    return copy;
  };
}

function withProperty<Taken extends IncomingMessage>(
  message: Taken,
  property: PropertyName,
  set: FilterValue | undefined,
): Taken {
  if ('application' in property)
    return { ...message, bare: withApplicationProperty(message.bare, property.application, set) };
  const { system } = property;
  const wrap = system === 'content_type' ? types.wrap_symbol : types.wrap_string;
  return withField(message, fieldPlaces[system], set === undefined ? types.wrap(null) : wrap(String(set)));
}
