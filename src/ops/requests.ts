import { z } from 'zod';
import { BadContinuation, type Page } from '../documents/pages.ts';
import { shown, unknownName } from '../intake/fieldErrors.ts';
import { smallBody } from '../platform/bodyChunks.ts';
import type { Clock } from '../platform/clock.ts';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import type { OpsRequest, OpsResponse } from './http.ts';

/** What a request asks for, or the answer that says what is wrong with it. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; response: OpsResponse };

/** Why somebody does something, for the audit trail; optional if nobody else is affected. */
export const reasonSchema = z.string().trim().min(1).max(500);

/** The body of calls that need none: `{}` or nothing, with or without a reason. */
export const reasonBodySchema = z.strictObject({ reason: reasonSchema.optional() });

/** One of these texts; the error repeats what was sent instead. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, {
    error: ({ input }) => `expected one of ${values.join(', ')}, got ${shown(input)}`,
  });
}

/** The query of a list that can be narrowed to one status and goes on where an earlier page ended. */
export function listQuerySchema<const T extends readonly [string, ...string[]]>(statuses: T) {
  return z.object({ status: oneOf(statuses).exactOptional(), continuation: z.string().exactOptional() });
}

/** The query of a list by day (UTC). */
export const dayQuery = z.object({
  day: z.iso
    .date({ error: ({ input }) => `expected a day as YYYY-MM-DD, got ${shown(input)}` })
    .exactOptional(),
  continuation: z.string().exactOptional(),
});

/** `YYYY-MM-DD`, UTC. */
export function today(clock: Clock): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

/** The largest JSON body of a call, in bytes; imports have a limit of their own. */
const mostBodyBytes = 65_536;

/** Reads a JSON body. No body at all counts as `empty`, if that is given. */
export async function readBody<T>(
  request: OpsRequest,
  schema: z.ZodType<T>,
  { empty }: { empty?: unknown } = {},
): Promise<Parsed<T>> {
  const query = readQuery(request, z.object({}));
  if (!query.ok) return query;
  const bytes = await smallBody(request, mostBodyBytes);
  if (bytes === 'tooLarge') return { ok: false, response: tooLarge };
  if (typeof bytes === 'string') return { ok: false, response: notArrived };
  const text = bytes.toString();
  const parsed = schema.safeParse(text.trim() === '' ? empty : jsonOf(text));
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, response: badRequest(fieldErrors(parsed.error, 'body')) };
}

const tooLarge = problemResponse(problem(413, `Expected a body of at most ${mostBodyBytes} bytes.`));
const notArrived = problemResponse(problem(400, 'The body did not arrive in full.'));

/**
 * What the platform reads from the query itself: a function key, and its name
 * (https://learn.microsoft.com/azure/azure-functions/function-keys-how-to).
 */
const ofPlatform = new Set(['code', 'clientId']);

/** Reads the query. A name that the call does not know is an error: a misspelt filter would silently show too much. */
export function readQuery<Shape extends z.ZodRawShape>(
  request: OpsRequest,
  schema: z.ZodObject<Shape>,
): Parsed<z.output<z.ZodObject<Shape>>> {
  const given = [...request.query].filter(([name]) => !ofPlatform.has(name));
  const names = given.map(([name]) => name);
  const known = Object.keys(schema.shape);
  const wrong: FieldError[] = [];
  const seen = new Set<string>();
  for (const name of names) {
    if (!known.includes(name)) wrong.push({ field: name, error: unknownName('parameter', name, known) });
    else if (seen.has(name)) wrong.push({ field: name, error: 'is there twice: expected once' });
    seen.add(name);
    if (wrong.length === mostErrors) break;
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success && wrong.length === 0) return { ok: true, value: parsed.data };
  const bad = parsed.success ? [] : fieldErrors(parsed.error, 'query');
  return { ok: false, response: badQuery([...wrong, ...bad]) };
}

/** Answers with a page of a list, under the list's name. */
export async function pageResponse<T>(
  name: string,
  list: Promise<Page<T>>,
  view: (item: T) => unknown,
): Promise<OpsResponse> {
  try {
    const { items, continuation = null } = await list;
    return { jsonBody: { [name]: items.map(view), continuation } };
  } catch (error) {
    if (!(error instanceof BadContinuation)) throw error;
    const expected = 'expected what an earlier page gave as "continuation"';
    return badQuery([{ field: 'continuation', error: expected }]);
  }
}

export function badRequest(errors: readonly FieldError[]): OpsResponse {
  return problemResponse(problem(400, 'The request has wrong values.', short(errors)));
}

export function badQuery(errors: readonly FieldError[]): OpsResponse {
  return problemResponse(problem(400, 'The query has a wrong value.', short(errors)));
}

/** Errors that one answer names. */
const mostErrors = 20;

/** A request may be wrong in thousands of places, and in long ones. */
function short(errors: readonly FieldError[]): FieldError[] {
  return errors.slice(0, mostErrors).map(({ field, error }) => ({
    field: field.slice(0, 60),
    error: shortened(error),
  }));
}

/** Characters of a detail that repeats what was sent. */
const longestDetail = 300;

export function notFound(what: string): OpsResponse {
  return problemResponse(problem(404, shortened(`there is no ${what}`)));
}

/** The thing is not in a state that allows this. */
export function conflict(detail: string): OpsResponse {
  return problemResponse(problem(409, shortened(detail)));
}

function shortened(detail: string): string {
  return detail.length > longestDetail ? `${detail.slice(0, longestDetail)}…` : detail;
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
