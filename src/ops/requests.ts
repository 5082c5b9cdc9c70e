import { z } from 'zod';
import { unknownName } from '../importing/fieldErrors.ts';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import { badQuery, badRequest, fieldErrors, mostErrors } from './refusals.ts';

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
  const known = Object.keys(schema.shape);
  const wrong: FieldError[] = [];
  const seen = new Set<string>();
  for (const [name] of given) {
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
  const given = mayBeEmpty && text.trim() === '' ? {} : jsonOf(text);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const error = `expected a JSON body ${schemaFields(schema)}`;
    return { ok: false, response: badRequest([{ field: 'body', error }]) };
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, response: badRequest(fieldErrors(parsed.error, 'body')) };
}

const tooLarge = problemResponse(problem(413, `Expected a body of at most ${mostBodyBytes} bytes.`));

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** `{id, reason?}`: the fields of an object, or of all that it may be. Of more than `most` only the first three. */
export function schemaFields(schema: z.ZodType, most?: number): string {
  return fieldsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), most);
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

function fieldsIn(schema: JsonSchema, most = Number.POSITIVE_INFINITY): string {
  if (schema.type === 'array') return `[${fieldsIn(schema.items as JsonSchema, most)}]`;
  const objects = schema.anyOf ?? schema.oneOf ?? [schema];
  const names = [...new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)))];
  const isNeeded = (name: string) => objects.every(({ required }) => required?.includes(name));
  const shown = names.slice(0, names.length > most ? 3 : undefined);
  const fields = shown.map((name) => `${name}${isNeeded(name) ? '' : '?'}`);
  return `{${[...fields, ...(shown.length < names.length ? ['…'] : [])].join(', ')}}`;
}
