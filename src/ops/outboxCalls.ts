import { type OutboxEntry, outboxStatuses, type RedrivenMessage } from '@payonce/jobs/outbox';
import { queues, serviceBusQueues } from '../platform/azureNames.ts';
import { type OutboxMessageAnswer, outboxAnswer, outboxMessageAnswer } from './answers/messageAnswers.ts';
import { call } from './call.ts';
import { listQuery, oneOf, optionalReasonBody, partOf, periodFields, reasonBody } from './fields.ts';
import { pageAnswer } from './listPages.ts';
import { conflict, notFound } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

const pageSize = 100;

export const outboxCalls = {
  listOutbox: call({
    method: 'GET',
    route: 'ops/outbox',
    tag: 'Messages',
    summary: 'A page of messages; pending and parked ones longest waiting first',
    query: listQuery(outboxStatuses).extend({
      queue: oneOf([serviceBusQueues.paymentCommands, queues.workItems]).exactOptional(),
      reason: partOf('an error'),
      ...periodFields,
    }),
    answer: { json: outboxAnswer },
    async handle({ query: { continuation, ...asked } }, { outbox }) {
      const filter = outboxFilter(asked);
      const place = continuation === undefined ? {} : { continuation };
      const page = pageAnswer('messages', await outbox.list({ pageSize, ...filter, ...place }), outboxView);
      if (continuation !== undefined) return { jsonBody: page };
      return { jsonBody: { ...page, total: await outbox.count(filter) } };
    },
  }),
  redriveOutbox: call({
    method: 'POST',
    audit: 'redrive outbox message',
    route: 'ops/outbox/{id}/redrive',
    tag: 'Messages',
    summary: 'Puts a parked message back to pending',
    body: optionalReasonBody,
    mayBeEmpty: true,
    answer: { json: outboxMessageAnswer },
    problems: [404, 409],
    async handle({ id, body: { reason = null }, record }, { outbox, instance }) {
      const redriven = await outbox.redrive(id, new Date(instance.clock.now()).toISOString());
      if (redriven.kind !== 'redriven') return whyNotChanged(id, redriven);
      await record(id, { destination: redriven.message.destination, reason });
      return { jsonBody: outboxView(redriven.message) };
    },
  }),
  discardOutbox: call({
    method: 'POST',
    audit: 'discard outbox message',
    route: 'ops/outbox/{id}/discard',
    tag: 'Messages',
    summary: 'Gives a parked message up for good',
    body: reasonBody,
    answer: { json: outboxMessageAnswer },
    problems: [404, 409],
    async handle({ id, caller, body: { reason }, record }, { outbox, instance }) {
      const at = new Date(instance.clock.now()).toISOString();
      const discarded = await outbox.discard(id, { at, by: caller.actor, reason });
      if (discarded.kind !== 'discarded') return whyNotChanged(id, discarded);
      await record(id, { destination: discarded.message.destination, reason });
      return { jsonBody: outboxView(discarded.message) };
    },
  }),
};

/** A filter in the words of the store: a queue is a destination, and a reason is an error. */
export function outboxFilter<Rest extends object>({
  queue,
  reason,
  ...rest
}: Rest & { queue?: string; reason?: string }) {
  return {
    ...rest,
    ...(queue === undefined ? {} : { destination: queue }),
    ...(reason === undefined ? {} : { error: reason }),
  };
}

function whyNotChanged(id: string, why: Exclude<RedrivenMessage, { kind: 'redriven' }>): OpsResponse<never> {
  return why.kind === 'notFound'
    ? notFound(`outbox message "${id}"`)
    : conflict(`outbox message "${id}" is ${why.status}: expected one that is parked`);
}

function outboxView(entry: OutboxEntry): OutboxMessageAnswer {
  const { id, shard, destination, status, createdAt, attempts } = entry;
  const { notBefore = null, nextAttemptAt = null, lastError = null, discarded = null } = entry;
  const view = { id, shard, destination, status, createdAt, notBefore, nextAttemptAt, attempts, lastError };
  return { ...view, discarded };
}
