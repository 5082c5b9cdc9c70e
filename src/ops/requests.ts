import { createHash } from 'node:crypto';
import type { Page } from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import type { z } from 'zod';
import { unknownName } from '../importing/fieldErrors.ts';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import { badQuery, badRequest, mostErrors } from './refusals.ts';
import { schemaFields } from './schemaFields.ts';

/** The part of an HTTP request that the calls under `ops/` need; the request of Azure Functions has that shape. */
export interface OpsRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Iterable<[string, string]>;
  readonly headers: { get(name: string): string | null };
  readonly body?: AsyncIterable<Uint8Array> | null;
}

/** An answer with a JSON body, or with text as its body. */
export interface OpsResponse<Json = unknown> {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  jsonBody?: Json;
}

/** A part of a request, or the answer that refuses it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; response: OpsResponse<never> };

/** `YYYY-MM-DD`, UTC. */
export function today(clock: Clock): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

/** The largest JSON body of a call, in bytes; imports have a limit of their own. */
const mostBodyBytes = 65_536;

/** Reads a JSON body. No body at all counts as `{}` if it may be empty. */
export async function readBody<Schema extends z.ZodType>(
  request: OpsRequest,
  schema: Schema,
  { mayBeEmpty }: { mayBeEmpty: boolean },
): Promise<Parsed<z.output<Schema>>> {
  const bytes = await wholeBody(request, mostBodyBytes);
  if (bytes === undefined) return { ok: false, response: tooLarge };
  const text = bytes.toString();
  const empty = mayBeEmpty ? {} : undefined;
  const given = text.trim() === '' ? empty : jsonOf(text);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const error = `expected a JSON body ${schemaFields(schema)}`;
    return { ok: false, response: badRequest([{ field: 'body', error }]) };
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, response: badRequest(fieldErrors(parsed.error, 'body')) };
}

const tooLarge = problemResponse(problem(413, `Expected a body of at most ${mostBodyBytes} bytes.`));

/**
 * Parameters that the platform reads from the query itself: a function key, and its name
 * (https://learn.microsoft.com/azure/azure-functions/function-keys-how-to).
 */
const ofPlatform = new Set(['code', 'clientId']);

/** Reads the query. A name that the call does not know is an error: a misspelt filter would silently show too much. */
export function readQuery<Schema extends z.ZodObject>(
  request: OpsRequest,
  schema: Schema,
): Parsed<z.output<Schema>> {
  const given = [...request.query].filter(([name]) => !ofPlatform.has(name));
  const names = given.map(([name]) => name);
  const known = Object.keys(schema.shape);
  const wrong: FieldError[] = [];
  const seen = new Set<string>();
  for (const name of names) {
    if (!known.includes(name)) wrong.push({ field: name, error: unknownName('parameter', known) });
    else if (seen.has(name)) wrong.push({ field: name, error: 'is there twice: expected once' });
    seen.add(name);
    if (wrong.length === mostErrors) break;
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success && wrong.length === 0) return { ok: true, value: parsed.data };
  const bad = parsed.success ? [] : fieldErrors(parsed.error, 'query');
  return { ok: false, response: badQuery([...wrong, ...bad]) };
}

/** Characters of an idempotency key. */
export const longestKey = 255;

/** Reads the header `Idempotency-Key`; undefined if it is absent and may be. */
export function readIdempotencyKey(
  { headers }: OpsRequest,
  needed: 'required' | 'optional' | undefined,
): Parsed<string | undefined> {
  const key = needed === undefined ? undefined : headers.get('idempotency-key')?.trim();
  if (key === undefined && needed !== 'required') return { ok: true, value: undefined };
  if (key !== undefined && key !== '' && key.length <= longestKey) return { ok: true, value: key };
  const error = `expected a header of 1 to ${longestKey} characters that names this request, and no other`;
  return { ok: false, response: badRequest([{ field: 'Idempotency-Key', error }]) };
}

/** A page of a list as an answer, under the list's name. */
export function pageAnswer<const Name extends string, Item, View>(
  name: Name,
  { items, continuation }: Page<Item>,
  view: (item: Item) => View,
) {
  const list = { [name]: items.map(view) } as Record<Name, View[]>;
  return { ...list, continuation: continuation ?? null };
}

/** A continuation as callers get it: with a checksum, so that one that is mutilated or of another list is refused at once. */
export function sealed(list: string, continuation: string): string {
  const sum = createHash('sha256')
    .update(JSON.stringify([list, continuation]))
    .digest('base64url');
  return `${sum.slice(0, 12)}.${continuation}`;
}

/** Undoes `sealed`; undefined for a text that it did not make. */
export function unsealed(list: string, given: string): string | undefined {
  const continuation = given.slice(given.indexOf('.') + 1);
  return sealed(list, continuation) === given ? continuation : undefined;
}

function fieldErrors({ issues }: z.ZodError, whole: string): FieldError[] {
  return issues.map(({ path, message }) => ({ field: path.join('.') || whole, error: message }));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
