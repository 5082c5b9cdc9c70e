import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { httpRoutes } from '../support/httpRoutes.ts';
import { root } from './sources.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'compose.yaml',
  'infra/main.bicep',
  'infra/main.bicepparam',
  'infra/modules/alerts.bicep',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
].map((path) => ({ path, text: read(path) }));

/** `GET ops/runs/{}` for every route. Parameter names do not matter. */
const routes = new Set(httpRoutes().map(({ method, path }) => `${method} ${withoutNames(path)}`));

describe.each(documents)('$path', ({ text }) => {
  test('routes it mentions exist', () => {
    const named = [...text.matchAll(/\b(GET|POST) (ops\/[^\s`'?,:;)|]*[^\s`'?,.:;)|])/g)];
    const missing = named
      .map(([, method, route = '']) => `${method} ${withoutNames(route)}`)
      .filter((route) => !routes.has(route));
    expect(missing).toEqual([]);
  });

  test('npm scripts it mentions exist', () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('package.json')));
    const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test('programs it names to npm scripts exist', () => {
    const named = [...text.matchAll(/npm run (check|bench|cloud|package) -- (\w[\w-]*)/g)];
    const missing = named.filter(([, script = '', name = '']) => !programsOf(script).includes(name));
    expect(missing.filter(([, , name]) => name !== 'NAME').map(([command]) => command)).toEqual([]);
  });
});

/** Names that the program of an npm script knows. */
function programsOf(script: string): string[] {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')));
  const [, program = ''] = /^node -- (\S+)$/.exec(scripts[script] ?? '') ?? [];
  const names = read(program).matchAll(/^ +'?([\w-]+)'?: (?:\(\) =>|\[)/gm);
  return [...names].map(([, name = '']) => name);
}

test('there are routes to compare, and documents that mention them', () => {
  expect(routes.size).toBeGreaterThan(10);
  expect(documents.some(({ text }) => text.includes('GET ops/'))).toBe(true);
});

function withoutNames(route: string): string {
  return route.replaceAll(/\{[^}]*\}/g, '{}');
}
