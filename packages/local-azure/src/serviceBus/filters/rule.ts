import { z } from 'zod';
import { FilterError, type MessageView, systemProperty } from './messageView.ts';
import { compileSql } from './sqlFilter.ts';

const values = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({});

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
    Action: z.undefined({ error: 'actions of rules are not supported' }).optional(),
  }),
});

export type Rule = z.output<typeof ruleSchema>;

/** The rule of a subscription for which none is named: it takes every message. */
export const everything: Rule = {
  Name: '$Default',
  Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=1', Parameters: {} } },
};

/** @throws {FilterError} */
export function compileRule({ Properties }: Rule): (message: MessageView) => boolean {
  const { FilterType, SqlFilter, CorrelationFilter } = Properties;
  if (FilterType === 'Sql') {
    if (SqlFilter === undefined) throw new FilterError('a rule of the type Sql needs SqlFilter');
    return compileSql(SqlFilter.SqlExpression, SqlFilter.Parameters);
  }
  if (CorrelationFilter === undefined)
    throw new FilterError('a rule of the type Correlation needs CorrelationFilter');
  const { Properties: application, ...system } = CorrelationFilter;
  const wanted = Object.entries(system).map(([name, value]) => [systemProperty(name), value] as const);
  const named = Object.entries(application);
  if (wanted.length + named.length === 0) throw new FilterError('a correlation filter needs a property');
  return (message) =>
    wanted.every(([field, value]) => message.system(field) === value) &&
    named.every(([name, value]) => message.application(name) === value);
}
