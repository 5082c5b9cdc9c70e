import { decodeMessage } from '../amqp/rhea.ts';
import type { IncomingMessage } from '../broker/message.ts';
import type { FilterValue } from './sqlFilter.ts';

/** A filter is malformed, or needs what this broker lacks. */
export class FilterError extends Error {
  override readonly name = 'FilterError';
}

/** Field of a decoded message, by the name of the system property in lower case. */
const systemFields = {
  messageid: 'message_id',
  correlationid: 'correlation_id',
  label: 'subject',
  subject: 'subject',
  to: 'to',
  replyto: 'reply_to',
  contenttype: 'content_type',
  sessionid: 'group_id',
  replytosessionid: 'reply_to_group_id',
} as const;

export type SystemField = (typeof systemFields)[keyof typeof systemFields];

/** @throws {FilterError} if there is no such property */
export function systemProperty(name: string): SystemField {
  const field = Object.entries(systemFields).find(([known]) => known === name.toLowerCase())?.[1];
  if (field === undefined) throw new FilterError(`the system property ${name} is not supported in filters`);
  return field;
}

/** The properties of a message that filters see. Names are compared without case. */
export interface MessageView {
  system(field: SystemField): FilterValue | undefined;
  application(name: string): FilterValue | undefined;
}

/** Decodes a message once, and only if a filter looks at it. */
export function filterView({ bare }: Pick<IncomingMessage, 'bare'>): MessageView {
  let decoded: Record<string, unknown> | undefined;
  let named: Map<string, unknown> | undefined;
  const message = () => (decoded ??= decodeMessage(bare) as Record<string, unknown>);
  return {
    system: (field) => filterValue(message()[field]),
    application(name) {
      const properties = (message().application_properties ?? {}) as Record<string, unknown>;
      named ??= new Map(Object.entries(properties).map(([key, value]) => [key.toLowerCase(), value]));
      return filterValue(named.get(name.toLowerCase()));
    },
  };
}

/** Numbers of any AMQP type, and times as milliseconds. */
function filterValue(value: unknown): FilterValue | undefined {
  if (typeof value === 'bigint' || value instanceof Date) return Number(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : undefined;
}
