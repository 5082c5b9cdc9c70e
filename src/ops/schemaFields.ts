import { z } from 'zod';

/** Fields that are shown of an object that has too many. */
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
