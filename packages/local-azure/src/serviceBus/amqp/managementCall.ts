import { z } from 'zod';
import type { Broker } from '../broker/broker.ts';
import type { Queue } from '../broker/queue.ts';
import type { Answer } from './requests.ts';
import { lockLost } from './settlement.ts';

/** A request to `$management` of a queue. */
export interface Call {
  broker: Broker;
  queue: Queue;
  now: number;
  body: unknown;
  /** True if a link of this connection holds the lock of the session. */
  holdsSession: (sessionId: string) => boolean;
}

/** @throws {Refusal} {z.ZodError} {DecodeError} {NoDeadLetters} {FilterError} */
export type Operation = (call: Call) => Answer;

export const bytes = z.custom<Buffer>((value) => Buffer.isBuffer(value), 'binary');

export const ok = (body?: unknown): Answer => ({ statusCode: 200, statusDescription: 'OK', body });

export const empty: Answer = { statusCode: 204, statusDescription: 'No Content', body: {} };

/** A reply other than success. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(statusCode: number, errorCondition: string, statusDescription: string) {
    super(statusDescription);
    this.answer = { statusCode, statusDescription, errorCondition, body: {} };
  }
}

export const gone = (queue: Queue) => {
  const { condition, description } = lockLost(queue);
  return new Refusal(410, condition, description);
};
