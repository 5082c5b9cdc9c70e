/**
 * One HTTP call under `ops/`, declared once: its trigger, role, schemas, place in the OpenAPI document and name in the audit trail.
 * `calls.ts` has them all, and `opsApi.ts` answers them.
 */

import type { Orchestrations } from '@payonce/jobs/runs/durable';
import type { z } from 'zod';
import type { Turns } from '../platform/eventLoopTurns.ts';
import type { Role } from './answers/overviewAnswers.ts';
import type { Intent } from './audit.ts';
import type { Caller } from './caller.ts';
import type { OpsParts } from './opsParts.ts';
import type { OpsRequest, OpsResponse } from './requests.ts';

export interface CallParts extends OpsParts {
  version: string;
  /** Turns of computing, shared by all imports of this process. */
  turns: Turns;
  calls: Readonly<Record<string, Call>>;
}

export const tags = {
  Invoices: 'What is to be paid, and what has become of it',
  Runs: 'Runs of the job that claims what is due',
  Leases: 'Which instance works on what',
  Messages: 'What the outbox still has to send, and dead letters',
  Overview: 'How everything stands, what was paid, and who did what',
  About: 'The app itself',
} as const;

type Needed = 'required' | 'optional';

/**
 * Reading needs the role `ops.read`; a change needs `ops.write`. `audit`: name in the journal and the audit trail, which a
 * change and an export have.
 */
type Kind = { method: 'GET'; audit?: string } | { method: 'POST' | 'PATCH'; audit: string };

export interface Answer<Json extends z.ZodType = z.ZodType> {
  status?: 202;
  json?: Json;
  csv?: string;
  /** Headers, with a description each. */
  headers?: Readonly<Record<string, string>>;
  /** Other statuses with the same body, and when they are given. */
  also?: Readonly<Record<number, string>>;
}

/** Adds to the audit trail, under the caller's name and the call's, once the thing has been done. */
export type AuditRecorder = Intent['record'];

interface Asked<Query, Body, Key, Durable> {
  request: OpsRequest;
  caller: Caller;
  /** The `{id}` of the route; empty if it has none. */
  id: string;
  query: Query;
  body: Body;
  idempotencyKey: Key;
  orchestrations: Durable;
  record: AuditRecorder;
}

type Declared<
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Json extends z.ZodType,
  Key extends Needed | undefined,
  Durable extends true | undefined,
> = Kind & {
  /** Without the prefix `api/`; parameters in braces. */
  route: string;
  tag: keyof typeof tags;
  summary: string;
  /** Nothing at all stands for the body `{}`. */
  mayBeEmpty?: true;
  /** A body that the handler reads itself, row by row. `csv` describes it in that form. */
  upload?: { json: z.ZodType; csv: string };
  /** Statuses of problems, besides those that every call may answer. */
  problems?: readonly (404 | 409 | 413 | 415 | 500 | 501 | 503)[];
  /** Absent: any parameter is refused, because the caller expects it to do something. */
  query?: Query;
  body?: Body;
  idempotencyKey?: Key;
  /** The handler needs the Durable Functions client. */
  durable?: Durable;
  answer: Answer<Json>;
  /** Ids that the journal names, a line each. Default: the `{id}` of the route, or else the route. */
  targets?(body: z.output<Body>): readonly string[];
  handle(
    asked: Asked<
      z.output<Query>,
      z.output<Body>,
      Key extends 'required' ? string : string | undefined,
      Durable extends true ? Orchestrations : undefined
    >,
    parts: CallParts,
  ): Promise<OpsResponse<z.output<Json>>>;
};

/** A call as its trigger, its admission and the OpenAPI document see it. */
export type Call = Declared<z.ZodObject, z.ZodType, z.ZodType, Needed | undefined, true | undefined> & {
  role: Role;
};

/** Declares a call. What its handler is given and has to answer follows from the schemas. */
export function call<
  Json extends z.ZodType,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
  Key extends Needed | undefined = undefined,
  Durable extends true | undefined = undefined,
>(declared: Declared<Query, Body, Json, Key, Durable>): Call {
  const role = declared.method === 'GET' ? 'ops.read' : 'ops.write';
  return { ...declared, role };
}
