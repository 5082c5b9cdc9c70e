import { z } from 'zod';
import { type OutboxEntry, outboxStatuses } from '../outbox/outboxMessage.ts';
import type { OutboxStore, RedrivenMessage } from '../outbox/outboxStore.ts';
import { queues, serviceBusQueues } from '../platform/azureNames.ts';
import type { Instance } from '../platform/instance.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { timeField } from './invoiceQuery.ts';
import {
  conflict,
  listQuerySchema,
  notFound,
  oneOf,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
  reasonSchema,
} from './requests.ts';

interface Parts {
  outbox: Pick<OutboxStore, 'list' | 'count' | 'redrive' | 'discard'>;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

const pageSize = 100;

/** By the names that callers know. */
export const outboxQuery = listQuerySchema(outboxStatuses).extend({
  queue: oneOf([serviceBusQueues.paymentCommands, queues.workItems]).exactOptional(),
  reason: z.string().min(1, { error: 'expected part of an error' }).exactOptional(),
  before: timeField.exactOptional(),
  after: timeField.exactOptional(),
});

/**
 * `GET ops/outbox?status=&queue=&reason=&before=&after=&continuation=`: a page of messages. Pending and parked ones come
 * longest waiting first; dispatched ones, or all of them, newest first. The first page says how many there are.
 */
export async function listOutboxFor(
  request: OpsRequest,
  { outbox }: Pick<Parts, 'outbox'>,
): Promise<OpsResponse> {
  const query = readQuery(request, outboxQuery);
  if (!query.ok) return query.response;
  const { continuation, queue, reason, ...rest } = query.value;
  const filter = {
    ...rest,
    ...(queue === undefined ? {} : { destination: queue }),
    ...(reason === undefined ? {} : { error: reason }),
  };
  const place = continuation === undefined ? {} : { continuation };
  const page = await pageResponse('messages', outbox.list({ pageSize, ...filter, ...place }), outboxView);
  if (page.jsonBody === undefined || continuation !== undefined) return page;
  return { ...page, jsonBody: { ...page.jsonBody, total: await outbox.count(filter) } };
}

export const discardOutboxSchema = z.strictObject({ reason: reasonSchema });

/** `POST ops/outbox/{id}/discard` `{reason}`: gives a parked message up for good. */
export async function discardOutboxFor(
  request: OpsRequest,
  { outbox, audit, actor, instance }: Parts,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, discardOutboxSchema);
  if (!asked.ok) return asked.response;
  const { reason } = asked.value;
  const at = new Date(instance.clock.now()).toISOString();
  const discarded = await outbox.discard(id, { at, by: actor, reason });
  if (discarded.kind !== 'discarded') return whyNotChanged(id, discarded);
  const { destination } = discarded.message;
  await audit.append({
    actor,
    action: 'discard outbox message',
    target: id,
    detail: { destination, reason },
  });
  return { jsonBody: outboxView(discarded.message) };
}

function whyNotChanged(id: string, why: Exclude<RedrivenMessage, { kind: 'redriven' }>): OpsResponse {
  return why.kind === 'notFound'
    ? notFound(`outbox message "${id}"`)
    : conflict(`outbox message "${id}" is ${why.status}: expected one that is parked`);
}

/** `POST ops/outbox/{id}/redrive` `{reason?}`: puts a parked message back to pending, for the sweeper to dispatch. */
export async function redriveOutboxFor(
  request: OpsRequest,
  { outbox, audit, actor, instance }: Parts,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, reasonBodySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const redriven = await outbox.redrive(id, new Date(instance.clock.now()).toISOString());
  if (redriven.kind !== 'redriven') return whyNotChanged(id, redriven);
  await audit.append({
    actor,
    action: 'redrive outbox message',
    target: id,
    detail: { destination: redriven.message.destination, reason: asked.value.reason ?? null },
  });
  return { jsonBody: outboxView(redriven.message) };
}

function outboxView({ id, shard, destination, status, createdAt, attempts, ...rest }: OutboxEntry) {
  const { notBefore = null, nextAttemptAt = null, lastError = null, discarded = null } = rest;
  const view = { id, shard, destination, status, createdAt, notBefore, nextAttemptAt, attempts, lastError };
  return { ...view, discarded };
}
