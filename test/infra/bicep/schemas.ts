import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/**
 * What a resource type takes: made by schemas/renew.ts from the Azure type index, without what can only be read. A type
 * is `string`, `int`, `bool`, `any`, the name of one in `types`, a literal value, `T[]`, or several with ` | ` between.
 */
const shape = z.strictObject({
  required: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.string()),
  /** Type of the values of properties that are not listed. */
  additional: z.string().optional(),
});
const schema = z.strictObject({
  /** `Microsoft.Web/sites@2024-11-01` */
  type: z.string(),
  source: z.string(),
  /** One shape, or several that differ by a property with a literal value. */
  body: z.array(shape),
  types: z.record(z.string(), z.array(shape)),
});

export type Shape = z.infer<typeof shape>;
export type Schema = z.infer<typeof schema>;

const folder = new URL('../schemas/', import.meta.url);

/** All schemas, by type with version. */
export function readSchemas(): Map<string, Schema> {
  return new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => schema.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))))
      .map((read) => [read.type, read]),
  );
}
