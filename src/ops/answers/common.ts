import { z } from 'zod';

/** ISO 8601, UTC. */
export const time = z.string().meta({ format: 'date-time' });

/** A page of a list under the list's name; `continuation` asks for the next page, and is null on the last one. */
export function pageOf<Name extends string, Item extends z.ZodType>(name: Name, item: Item) {
  const items = { [name]: z.array(item) } as Record<Name, z.ZodArray<Item>>;
  return z.object({ ...items, continuation: z.string().nullable() });
}

/** Problem details of RFC 9457. An import adds the fields of its answer. */
export const problemAnswer = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), error: z.string() })).exactOptional(),
});
export type ProblemAnswer = z.infer<typeof problemAnswer>;
