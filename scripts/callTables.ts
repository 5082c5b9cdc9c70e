// node scripts/callTables.ts
//
// Writes the tables of docs/calls.md again, from the schemas that check the requests. A test compares the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type Call, tags } from '../src/ops/call.ts';
import { calls } from '../src/ops/calls.ts';

/** Fields of an answer; of one that has more, the first few are shown (`GET ops/openapi.json` has them all). */
const mostFields = 8;
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

/** A table for each chapter of the calls, in Markdown. */
export function callTables(): string {
  const all: Call[] = Object.values(calls);
  return Object.entries(tags)
    .map(([tag, about]) => {
      const rows = all.filter((one) => one.tag === tag).map(rowOf);
      return [
        `## ${tag}`,
        '',
        `${about}.`,
        '',
        '| call | does | answer | refusals |',
        '| --- | --- | --- | --- |',
        ...rows,
      ].join('\n');
    })
    .join('\n\n');
}

function rowOf(call: Call): string {
  const { method, route, query, idempotencyKey, summary, answer, problems = [] } = call;
  const names = query === undefined ? [] : Object.keys(shape.parse(jsonSchema(query)).properties);
  const path = names.length === 0 ? route : `${route}?${names.map((name) => `${name}=`).join('&')}`;
  const key =
    idempotencyKey === undefined
      ? ''
      : `, with \`Idempotency-Key\`${idempotencyKey === 'optional' ? ' (optional)' : ''}`;
  const status = answer.status === undefined ? '' : `${answer.status} `;
  const csv = answer.csv === undefined ? [] : ['CSV'];
  const json = answer.json === undefined ? [] : [`\`${fieldsOf(jsonSchema(answer.json), mostFields)}\``];
  return `| \`${method} ${path}\`${bodyOf(call)}${key} | ${summary} | ${status}${[...json, ...csv].join(' or ')} | ${problems.join(', ')} |`;
}

function bodyOf({ body, upload }: Call): string {
  if (upload !== undefined) return ` \`${fieldsOf(jsonSchema(upload.json))}\` or CSV`;
  return body === undefined ? '' : ` \`${fieldsOf(jsonSchema(body))}\``;
}

/** `{id, reason?}`: the fields of an object, or of all the objects that it may be. */
function fieldsOf(schema: unknown, most = Number.POSITIVE_INFINITY): string {
  const array = list.safeParse(schema);
  if (array.success) return `[${fieldsOf(array.data.items, most)}]`;
  const { anyOf, oneOf } = alternatives.parse(schema);
  const objects = (anyOf ?? oneOf ?? [schema]).map((one) => shape.parse(one));
  const names = [...new Set(objects.flatMap(({ properties }) => Object.keys(properties)))];
  const isNeeded = (name: string) => objects.every(({ required }) => required.includes(name));
  const shown = names.slice(0, names.length > most ? fewFields : undefined);
  const fields = shown.map((name) => `${name}${isNeeded(name) ? '' : '?'}`);
  return `{${[...fields, ...(shown.length < names.length ? ['…'] : [])].join(', ')}}`;
}

function jsonSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

if (import.meta.main) {
  const page = new URL('../docs/calls.md', import.meta.url);
  const between = /(<!-- node scripts\/callTables\.ts[^>]*-->\n\n)[\s\S]*?(\n\n<!-- end of calls -->)/;
  const text = readFileSync(page, 'utf8');
  if (!between.test(text)) throw new Error('docs/calls.md lacks the marks of its tables');
  writeFileSync(
    page,
    text.replace(between, (_, begin: string, end: string) => begin + callTables() + end),
  );
}
