import type { z } from 'zod';

/** What the calls are about. */
export const tags = {
  Invoices: 'What is to be paid, and what has become of it',
  Runs: 'Runs of the job that claims what is due',
  Leases: 'Which instance works on what',
  Messages: 'What the outbox still has to send, and what was given up',
  Figures: 'How everything stands, what was paid, and who did what',
  About: 'The app itself',
} as const;

/** One call under `ops/`, as the document describes it. */
export interface Operation {
  /** The name of its function. */
  id: string;
  method: 'get' | 'post' | 'patch';
  /** Without the prefix `api/`; parameters in braces. */
  path: string;
  tag: keyof typeof tags;
  summary: string;
  /** The schema that reads its query. */
  query?: z.ZodObject;
  /** The header `Idempotency-Key`. */
  idempotencyKey?: 'required' | 'optional';
  body?: Body;
  answer: Answer;
  /** Statuses of problems, besides those that every call may answer. */
  problems?: readonly (404 | 408 | 409 | 413 | 415 | 422 | 500 | 501 | 503)[];
}

export interface Body {
  /** The schema that reads it. */
  json: z.ZodType;
  /** Nothing at all stands for `{}`. */
  mayBeEmpty?: true;
  /** It may come as CSV as well. */
  csv?: string;
}

export interface Answer {
  status?: 202;
  json?: z.ZodType;
  /** What it is as CSV. */
  csv?: string;
  /** Headers, with what they say. */
  headers?: Readonly<Record<string, string>>;
  /** Other statuses with the same body. */
  also?: Readonly<Record<number, string>>;
}
