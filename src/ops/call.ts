/**
 * One HTTP call under `ops/`, declared once: its trigger, the role it needs, what it reads, what it answers, its place in
 * the OpenAPI document and its name in the audit trail all come from here (`calls.ts` has them all).
 */

import type { Orchestrations } from '@payonce/jobs/runs/durable';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import type { Turns } from '../platform/eventLoopTurns.ts';
import type { Role } from './answers/overviewAnswers.ts';
import { type Intent, intend } from './audit.ts';
import type { Caller } from './caller.ts';
import type { OpsParts } from './opsParts.ts';
import { badContinuation } from './refusals.ts';
import {
  type OpsRequest,
  type OpsResponse,
  readBody,
  readIdempotencyKey,
  readQuery,
  sealed,
  unsealed,
} from './requests.ts';

/** Parts that a handler works with. */
export interface CallParts extends OpsParts {
  /** Release of the app. */
  version: string;
  /** Turns of computing, shared by all imports of this process. */
  turns: Turns;
  calls: Readonly<Record<string, Call>>;
}

/** Chapters of the OpenAPI document. */
export const tags = {
  Invoices: 'What is to be paid, and what has become of it',
  Runs: 'Runs of the job that claims what is due',
  Leases: 'Which instance works on what',
  Messages: 'What the outbox still has to send, and dead letters',
  Overview: 'How everything stands, what was paid, and who did what',
  About: 'The app itself',
} as const;

type Needed = 'required' | 'optional';

interface Described {
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
}

/**
 * Reading needs the role `ops.read`; a change needs `ops.write`. `audit`: name in the journal and the audit trail, which a
 * change and an export have.
 */
type Kind = { method: 'GET'; audit?: string } | { method: 'POST' | 'PATCH'; audit: string };

export interface Answer<Json extends z.ZodType = z.ZodType> {
  status?: 202;
  json?: Json;
  /** Description of the CSV form. */
  csv?: string;
  /** Headers, with a description each. */
  headers?: Readonly<Record<string, string>>;
  /** Other statuses with the same body, and when they are given. */
  also?: Readonly<Record<number, string>>;
}

/** Adds to the audit trail, under the caller's name and the call's, once the thing has been done. */
export type AuditRecorder = Intent['record'];

/** A request, once it has been admitted and read. */
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
> = Described &
  Kind & {
    /** Absent: any parameter is refused, because the caller expects it to do something. */
    query?: Query;
    body?: Body;
    /** The header `Idempotency-Key`. */
    idempotencyKey?: Key;
    /** The handler needs the Durable Functions client. */
    durable?: Durable;
    answer: Answer<Json>;
    /** Ids that the journal names, a line each. Default: the `{id}` of the route, or else the route. */
    targets?: (body: z.output<Body>) => readonly string[];
    handle: (
      asked: Asked<
        z.output<Query>,
        z.output<Body>,
        Key extends 'required' ? string : string | undefined,
        Durable extends true ? Orchestrations : undefined
      >,
      parts: CallParts,
    ) => Promise<OpsResponse<z.output<Json>>>;
  };

/** A call as its trigger, its admission and the OpenAPI document see it. */
export type Call = Described & {
  method: 'GET' | 'POST' | 'PATCH';
  role: Role;
  audit?: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  idempotencyKey?: Needed | undefined;
  durable?: true | undefined;
  answer: Answer;
  /** Reads a request of somebody who may make it, and answers. */
  respond(
    request: OpsRequest,
    who: { caller: Caller; orchestrations: Orchestrations | undefined },
    parts: CallParts,
  ): Promise<OpsResponse>;
};

const noQuery = z.object({});

/** Values of a body that an erasure has to reach. */
interface ToErase {
  customerId?: unknown;
  text?: unknown;
}

/** Declares a call. What its handler is given and has to answer follows from the schemas. */
export function call<
  Json extends z.ZodType,
  Query extends z.ZodObject = typeof noQuery,
  Body extends z.ZodType = z.ZodUndefined,
  Key extends Needed | undefined = undefined,
  Durable extends true | undefined = undefined,
>(declared: Declared<Query, Body, Json, Key, Durable>): Call {
  const { handle, targets, ...described } = declared;
  const { method, route, audit, mayBeEmpty = false } = declared;
  return {
    ...described,
    role: method === 'GET' ? 'ops.read' : 'ops.write',
    async respond(request, { caller, orchestrations }, parts) {
      const query = readQuery(request, declared.query ?? noQuery);
      if (!query.ok) return query.response;
      const key = readIdempotencyKey(request, declared.idempotencyKey);
      if (!key.ok) return key.response;
      const body = declared.body && (await readBody(request, declared.body, { mayBeEmpty }));
      if (body?.ok === false) return body.response;
      const id = request.params.id ?? '';
      const list = `${route} ${id}`;
      const asking: { continuation?: string } = { ...query.value };
      if (asking.continuation !== undefined) {
        const continuation = unsealed(list, asking.continuation);
        if (continuation === undefined) return badContinuation();
        asking.continuation = continuation;
      }
      const values = body?.value;
      const about = targets?.(values as z.output<Body>) ?? [id || route];
      // Nobody can erase a customer, or the text of a note, from the journal.
      const { customerId: _customer, text: _note, ...asks } = { ...(values as ToErase | undefined) };
      const changes = { ...asking, ...asks, idempotencyKey: key.value };
      const intent =
        audit === undefined
          ? undefined
          : await intend(parts, caller, { action: audit, targets: about, changes });
      // The parts are those that the declaration names; TypeScript cannot follow that through the absent ones.
      const asked = {
        request,
        caller,
        id,
        query: asking,
        body: values,
        idempotencyKey: key.value,
        orchestrations,
        record: intent?.record,
      } as Parameters<typeof handle>[0];
      const { status } = declared.answer;
      try {
        const response = await handle(asked, parts);
        const answer =
          status === undefined || response.jsonBody === undefined ? response : { status, ...response };
        await intent?.answered(answer.status ?? 200);
        return withSealedPlace(list, answer);
      } catch (error) {
        await intent?.record(about.join(' '), { outcome: 'unknown', error: errorText(error).slice(0, 300) });
        await intent?.answered('unknown');
        throw error;
      }
    },
  };
}

function withSealedPlace(list: string, answer: OpsResponse): OpsResponse {
  const place = z.object({ continuation: z.string() }).safeParse(answer.jsonBody).data;
  if (place === undefined) return answer;
  const continuation = sealed(list, place.continuation);
  return { ...answer, jsonBody: { ...(answer.jsonBody as object), continuation } };
}
