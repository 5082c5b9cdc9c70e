import type { Container } from '@azure/cosmos';
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import { listOutbox, type OutboxEntry } from '../outbox/listOutbox.ts';
import { outboxStatuses } from '../outbox/outboxMessage.ts';
import { redriveOutboxMessage } from '../outbox/redriveOutbox.ts';
import type { Clock } from '../platform/clock.ts';
import { type Audit, actorOf } from './audit.ts';
import {
  conflict,
  notFound,
  oneOf,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
} from './requests.ts';

interface Dependencies {
  container: Container;
  clock: Clock;
  audit: Audit;
}

const pageSize = 100;

const querySchema = z.object({
  status: oneOf(outboxStatuses).exactOptional(),
  continuation: z.string().exactOptional(),
});

/**
 * `GET ops/outbox?status=&continuation=`: a page of messages. Pending and parked: the longest waiting first; dispatched, or
 * without a status: the newest first.
 */
export async function listOutboxFor(
  request: HttpRequest,
  { container }: Dependencies,
): Promise<HttpResponseInit> {
  const query = readQuery(request, querySchema);
  if (!query.ok) return query.response;
  return pageResponse('messages', listOutbox(container, { pageSize, ...query.value }), outboxView);
}

/** `POST ops/outbox/{id}/redrive` `{reason?}`: a parked message back to pending, for the sweeper to dispatch. */
export async function redriveOutboxFor(
  request: HttpRequest,
  dependencies: Dependencies,
): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const asked = await readBody(request, reasonBodySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const redriven = await redriveOutboxMessage(dependencies, id);
  switch (redriven.kind) {
    case 'notFound':
      return notFound(`outbox message "${id}"`);
    case 'refused':
      return conflict(`outbox message "${id}" is ${redriven.status}: expected one that is parked`);
    case 'redriven':
      await dependencies.audit({
        actor: actorOf(request.headers),
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
