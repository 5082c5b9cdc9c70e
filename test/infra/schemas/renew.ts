// Regenerates the schemas in this folder from the Azure type index:
//   npm install --no-save --ignore-scripts --prefix /tmp/azmcp @azure/mcp-linux-x64
//   node test/infra/schemas/renew.ts /tmp/azmcp/node_modules/@azure/mcp-linux-x64/dist/azmcp
// The index is Microsoft's (MIT licence). It has one version of each type. Schemas of types that it lacks
// stay unchanged: those files name their source.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { bicepPaths, readInfra } from '../bicep/readBicep.ts';
import type { Schema, Shape } from '../bicep/schemas.ts';

const property = z.looseObject({ name: z.string(), type: z.string(), flags: z.string().optional() });
const object = z.looseObject({
  name: z.string(),
  properties: z.array(property).optional(),
  additionalPropertiesType: z.string().optional(),
  baseProperties: z.array(property).optional(),
  elements: z.array(z.looseObject({ properties: z.array(property) })).optional(),
});
type IndexObject = z.infer<typeof object>;
const answer = z.looseObject({
  results: z.looseObject({
    BicepSchemaResult: z.array(z.looseObject({ $type: z.string(), name: z.string() })),
  }),
});

const [azmcp] = process.argv.slice(2);
if (azmcp === undefined) throw new Error('usage: node test/infra/schemas/renew.ts path/to/azmcp');

const used = new Set(
  bicepPaths().flatMap((path) =>
    [...readInfra(path).resources.values()].map(({ type }) => type.split('@')[0] ?? ''),
  ),
);
for (const type of [...used].sort()) {
  try {
    const schema = schemaOf(type, azmcp);
    const file = `${type.replaceAll('/', '.')}.json`;
    writeFileSync(new URL(file, import.meta.url), `${JSON.stringify(schema, null, 2)}\n`);
    console.log(`${schema.type}: ${Object.keys(schema.types).length} types`);
  } catch (error) {
    console.warn(
      `${type}: left unchanged (${error instanceof Error ? error.message.split('\n')[0] : String(error)})`,
    );
  }
}

function schemaOf(type: string, tool: string): Schema {
  const output = execFileSync(tool, ['bicepschema', 'get', '--resource-type', type], {
    env: { ...process.env, AZURE_MCP_COLLECT_TELEMETRY: 'false' },
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 * 1024,
  });
  const entries = answer.parse(JSON.parse(output.toString())).results.BicepSchemaResult;
  const objects = new Map(
    entries
      .filter(({ $type }) => $type === 'Object' || $type === 'DiscriminatedObject')
      .map((entry) => [entry.name, object.parse(entry)] as const),
  );
  const resource = entries.find(({ $type, name }) => $type === 'Resource' && name.startsWith(`${type}@`));
  if (resource === undefined) throw new Error('not in the index');
  const body = shapesOf(object.parse({ name: type, ...z.looseObject({}).parse(resource.bodyType) }));
  const types: Schema['types'] = {};
  const open = body.flatMap(typesIn);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const found = objects.get(name);
    if (found === undefined || types[name] !== undefined) continue;
    const shapes = shapesOf(found);
    types[name] = shapes;
    open.push(...shapes.flatMap(typesIn));
  }
  const sorted = Object.fromEntries(Object.entries(types).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    type: resource.name,
    source: 'Azure type index of @azure/mcp-linux-x64 (MIT)',
    body,
    types: sorted,
  };
}

function shapesOf({
  properties = [],
  additionalPropertiesType,
  baseProperties = [],
  elements,
}: IndexObject): Shape[] {
  const variants = elements?.map((element) => [...baseProperties, ...element.properties]) ?? [properties];
  return variants.map((all) => {
    const writable = all.filter(({ flags = '' }) => !flags.includes('ReadOnly'));
    const required = writable.filter(({ flags = '' }) => flags.includes('Required')).map(({ name }) => name);
    return {
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(writable.map(({ name, type }) => [name, type])),
      ...(additionalPropertiesType === undefined ? {} : { additional: additionalPropertiesType }),
    };
  });
}

function typesIn({ properties, additional }: Shape): string[] {
  return [...Object.values(properties), additional ?? ''].flatMap((type) => type.match(/[\w/]+/g) ?? []);
}
