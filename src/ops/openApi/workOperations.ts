import { leasesAnswer, releasedAnswer } from '../answers/leaseAnswers.ts';
import {
  deadLettersAnswer,
  discardedAnswer,
  outboxAnswer,
  outboxMessageAnswer,
  redrivenAnswer,
} from '../answers/messageAnswers.ts';
import { pausedAnswer, resumedAnswer } from '../answers/pauseAnswers.ts';
import { runAnswer, runsAnswer, startedAnswer } from '../answers/runAnswers.ts';
import { bulkBodySchema } from '../bulk/bulkRequest.ts';
import { deadLettersQuery, discardSchema, redriveSchema } from '../deadLettersApi.ts';
import { releaseSchema } from '../locksApi.ts';
import { discardOutboxSchema, outboxQuery } from '../outboxApi.ts';
import { pauseRequestSchema } from '../pauseApi.ts';
import { reasonBodySchema } from '../requests.ts';
import { runsQuery, startRunSchema } from '../runsApi.ts';
import type { Operation } from './operation.ts';

/** Runs, leases and messages. */
export function workOperations(job: string): readonly Operation[] {
  return [
    {
      id: 'startRun',
      method: 'post',
      path: 'ops/runs',
      tag: 'Runs',
      summary: `Starts a run of a job: ${job}`,
      idempotencyKey: 'optional',
      body: { json: startRunSchema },
      answer: { status: 202, json: startedAnswer, headers: { Location: 'Where to ask how it stands' } },
      problems: [422],
    },
    {
      id: 'startBulk',
      method: 'post',
      path: 'ops/bulk',
      tag: 'Runs',
      summary: 'Retries or voids invoices, or redrives or discards messages, by a filter; as a run',
      idempotencyKey: 'required',
      body: { json: bulkBodySchema },
      answer: { status: 202, json: startedAnswer, headers: { Location: 'Where to ask how it stands' } },
      problems: [422],
    },
    {
      id: 'pausePayments',
      method: 'post',
      path: 'ops/pause',
      tag: 'Runs',
      summary: 'Within ten seconds no instance begins a claim or a call to the payment provider',
      body: { json: pauseRequestSchema },
      answer: { json: pausedAnswer },
    },
    {
      id: 'resumePayments',
      method: 'post',
      path: 'ops/resume',
      tag: 'Runs',
      summary: 'Ends a pause, and starts a run',
      body: { json: reasonBodySchema, mayBeEmpty: true },
      answer: { json: resumedAnswer },
      problems: [409],
    },
    {
      id: 'listRuns',
      method: 'get',
      path: 'ops/runs',
      tag: 'Runs',
      summary: 'A page of runs, newest first',
      query: runsQuery([job, 'bulk']),
      answer: { json: runsAnswer },
    },
    {
      id: 'getRun',
      method: 'get',
      path: 'ops/runs/{id}',
      tag: 'Runs',
      summary: 'How a run stands, group by group',
      answer: { json: runAnswer },
      problems: [404],
    },
    {
      id: 'cancelRun',
      method: 'post',
      path: 'ops/runs/{id}/cancel',
      tag: 'Runs',
      summary: 'Ends a running run; its groups stop after their current batch',
      body: { json: reasonBodySchema, mayBeEmpty: true },
      answer: { json: runAnswer },
      problems: [404, 409],
    },
    {
      id: 'listLocks',
      method: 'get',
      path: 'ops/locks',
      tag: 'Leases',
      summary: 'Who holds each lease, or held it last',
      answer: { json: leasesAnswer },
      problems: [501],
    },
    {
      id: 'releaseLock',
      method: 'post',
      path: 'ops/locks/release',
      tag: 'Leases',
      summary: 'Takes a lease from its holder',
      body: { json: releaseSchema },
      answer: { json: releasedAnswer },
      problems: [404, 409, 501],
    },
    {
      id: 'listOutbox',
      method: 'get',
      path: 'ops/outbox',
      tag: 'Messages',
      summary: 'A page of messages; pending and parked ones longest waiting first',
      query: outboxQuery,
      answer: { json: outboxAnswer },
    },
    {
      id: 'redriveOutbox',
      method: 'post',
      path: 'ops/outbox/{id}/redrive',
      tag: 'Messages',
      summary: 'Puts a parked message back to pending',
      body: { json: reasonBodySchema, mayBeEmpty: true },
      answer: { json: outboxMessageAnswer },
      problems: [404, 409],
    },
    {
      id: 'discardOutbox',
      method: 'post',
      path: 'ops/outbox/{id}/discard',
      tag: 'Messages',
      summary: 'Gives a parked message up for good',
      body: { json: discardOutboxSchema },
      answer: { json: outboxMessageAnswer },
      problems: [404, 409],
    },
    {
      id: 'listDeadLetters',
      method: 'get',
      path: 'ops/dead-letters',
      tag: 'Messages',
      summary: 'A page of the messages that were given up, queue by queue',
      query: deadLettersQuery,
      answer: { json: deadLettersAnswer },
    },
    {
      id: 'redriveDeadLetters',
      method: 'post',
      path: 'ops/dead-letters/redrive',
      tag: 'Messages',
      summary: 'Sends messages that were given up again',
      body: { json: redriveSchema },
      answer: { json: redrivenAnswer },
      problems: [503],
    },
    {
      id: 'discardDeadLetters',
      method: 'post',
      path: 'ops/dead-letters/discard',
      tag: 'Messages',
      summary: 'Throws messages away that were given up',
      body: { json: discardSchema },
      answer: { json: discardedAnswer },
      problems: [503],
    },
  ];
}
