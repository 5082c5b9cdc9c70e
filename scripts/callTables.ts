// npm run check -- calls
//
// Writes the tables of docs/calls.md again, from the schemas that check the requests. A test compares the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { type Call, tags } from '../src/ops/call.ts';
import { calls } from '../src/ops/calls.ts';
import { schemaFields } from '../src/ops/requests.ts';

/** Fields of an answer; of one that has more, the first few are shown (`GET ops/openapi.json` has them all). */
const mostFields = 8;

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
  const names = query === undefined ? [] : Object.keys(query.shape);
  const path = names.length === 0 ? route : `${route}?${names.map((name) => `${name}=`).join('&')}`;
  const key =
    idempotencyKey === undefined
      ? ''
      : `, with \`Idempotency-Key\`${idempotencyKey === 'optional' ? ' (optional)' : ''}`;
  const status = answer.status === undefined ? '' : `${answer.status} `;
  const csv = answer.csv === undefined ? [] : ['CSV'];
  const json = answer.json === undefined ? [] : [`\`${schemaFields(answer.json, mostFields)}\``];
  return `| \`${method} ${path}\`${bodyOf(call)}${key} | ${summary} | ${status}${[...json, ...csv].join(' or ')} | ${problems.join(', ')} |`;
}

function bodyOf({ body, upload }: Call): string {
  if (upload !== undefined) return ` \`${schemaFields(upload.json)}\` or CSV`;
  return body === undefined ? '' : ` \`${schemaFields(body)}\``;
}

/** Writes the page again. */
export function writeCallTables(): void {
  const page = new URL('../docs/calls.md', import.meta.url);
  const between = /(<!-- npm run check -- calls[^>]*-->\n\n)[\s\S]*?(\n\n<!-- end of calls -->)/;
  const text = readFileSync(page, 'utf8');
  if (!between.test(text)) throw new Error('docs/calls.md lacks the marks of its tables');
  writeFileSync(
    page,
    text.replace(between, (_, begin: string, end: string) => begin + callTables() + end),
  );
}
