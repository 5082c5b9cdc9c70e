import { type OutboxEntry, outboxStatuses } from '../outbox/outboxMessage.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import type { Instance } from '../platform/instance.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import {
  conflict,
  listQuerySchema,
  notFound,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
} from './requests.ts';

interface Parts {
  outbox: Pick<OutboxStore, 'list' | 'redrive'>;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

const pageSize = 100;

export const outboxQuery = listQuerySchema(outboxStatuses);

/**
 * `GET ops/outbox?status=&continuation=`: a page of messages. Pending and parked ones come longest waiting first;
 * dispatched ones, or all of them, newest first.
 */
export async function listOutboxFor(
  request: OpsRequest,
  { outbox }: Pick<Parts, 'outbox'>,
): Promise<OpsResponse> {
  const query = readQuery(request, outboxQuery);
  if (!query.ok) return query.response;
  return pageResponse('messages', outbox.list({ pageSize, ...query.value }), outboxView);
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
  switch (redriven.kind) {
    case 'notFound':
      return notFound(`outbox message "${id}"`);
    case 'refused':
      return conflict(`outbox message "${id}" is ${redriven.status}: expected one that is parked`);
    case 'redriven':
      await audit.append({
        actor,
        action: 'redrive outbox message',
        target: id,
        detail: { destination: redriven.message.destination, reason: asked.value.reason ?? null },
      });
      return { jsonBody: outboxView(redriven.message) };
  }
}

function outboxView({ id, shard, destination, status, createdAt, attempts, ...rest }: OutboxEntry) {
  const { notBefore = null, nextAttemptAt = null, lastError = null } = rest;
  return { id, shard, destination, status, createdAt, notBefore, nextAttemptAt, attempts, lastError };
}
