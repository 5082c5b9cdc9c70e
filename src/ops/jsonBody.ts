import { z } from 'zod';
import { problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import { badRequest, fieldErrors } from './refusals.ts';
import type { OpsRequest, Parsed } from './requests.ts';

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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const fewFields = 3;

const alternatives = z.object({
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});
const shape = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});
const list = z.object({ type: z.literal('array'), items: z.unknown() });

/** `{id, reason?}`: the fields of an object, or of all that it may be. Of more than `most` only the first few. */
export function schemaFields(schema: z.ZodType, most?: number): string {
  return fieldsIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), most);
}

function fieldsIn(schema: unknown, most = Number.POSITIVE_INFINITY): string {
  const array = list.safeParse(schema);
  if (array.success) return `[${fieldsIn(array.data.items, most)}]`;
  const { anyOf, oneOf } = alternatives.parse(schema);
  const objects = (anyOf ?? oneOf ?? [schema]).map((one) => shape.parse(one));
  const names = [...new Set(objects.flatMap(({ properties }) => Object.keys(properties)))];
  const isNeeded = (name: string) => objects.every(({ required }) => required.includes(name));
  const shown = names.slice(0, names.length > most ? fewFields : undefined);
  const fields = shown.map((name) => `${name}${isNeeded(name) ? '' : '?'}`);
  return `{${[...fields, ...(shown.length < names.length ? ['…'] : [])].join(', ')}}`;
}
