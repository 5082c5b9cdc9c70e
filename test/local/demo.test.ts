import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Demo } from '../../local/demo/demo.ts';
import { allOfIt, allOfItMs, faultIds, faultOf, guardTexts, hostFaults } from '../../local/demo/faults.ts';
import { serveDemo } from '../../local/demo/serve.ts';
import { switches } from '../../local/demo/switches.ts';
import { hasOwnKey } from '../../local/demo/switchFile.ts';
import { removeFolder } from '../support/removeFolder.ts';

const stack = new AsyncDisposableStack();
const page = mkdtempSync(join(tmpdir(), 'payonce-demo-'));
stack.defer(() => removeFolder(page));
afterAll(() => stack.disposeAsync());

const acted: unknown[] = [];
const demo: Demo = {
  state: () => ({ figures: 'of the demo' }) as unknown as ReturnType<Demo['state']>,
  story: async () => undefined,
  async act(action) {
    acted.push(action);
  },
  async [Symbol.asyncDispose]() {},
};
let address = '';
beforeAll(async () => {
  writeFileSync(join(page, 'index.html'), 'the page');
  ({ address } = stack.use(await serveDemo(demo, page)));
});

const act = (body: string, type = 'application/json') =>
  fetch(`${address}/act`, { method: 'POST', headers: { 'content-type': type }, body });

test('the page comes with the policy of the dashboard, the state as JSON, and the docs as text', async () => {
  const response = await fetch(address);
  expect(await response.text()).toBe('the page');
  expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
  expect(await (await fetch(`${address}/state`)).json()).toEqual({ figures: 'of the demo' });
  const docs = await fetch(`${address}/docs/demo.md`);
  expect(docs.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await docs.text()).toMatch(/^# Break it yourself/);
});

test('no other address of this machine answers', async () => {
  const { port } = new URL(address);
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address: own }) => family === 'IPv4' && own !== '127.0.0.1')
    .map(({ address: own }) => `http://${own}:${port}/`);
  for (const other of [...others, `http://[::1]:${port}/`, `http://127.0.0.2:${port}/`])
    await expect(fetch(other), other).rejects.toThrow('fetch failed');
});

test('a request under another name, as of a site that points its own name here, is refused', async () => {
  const status = await new Promise((resolve) => {
    request(`${address}/state`, { headers: { host: 'evil.example' } }, ({ statusCode }) =>
      resolve(statusCode),
    ).end();
  });
  expect(status).toBe(403);
});

test('a form of another site cannot act, and a wrong action is refused with the field and what was expected', async () => {
  expect((await act('{"do":"reset"}', 'text/plain')).status).toBe(415);
  const refused = await act('{"do":"rate","perSecond":51}');
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('expected number to be <=50\n  → at perSecond');
  expect((await act('no JSON')).status).toBe(400);
  expect(acted).toEqual([]);
  expect((await act('{"do":"rate","perSecond":50}')).status).toBe(200);
  expect(acted).toEqual([{ do: 'rate', perSecond: 50 }]);
});

test('every switch has its sentences, and leads to words that are in the docs', () => {
  const all = [
    ...faultIds.map(faultOf),
    ...Object.values(hostFaults),
    ...Object.values(guardTexts),
    switches.deploy,
    switches.all,
  ];
  expect(all).toHaveLength(20);
  for (const { title, breaks, stands, page: name, words } of all) {
    expect(`${breaks} ${stands}`, title).toMatch(/^[^|]+\. [^|]+\.$/);
    const path = fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));
    expect(existsSync(path) && readFileSync(path, 'utf8').includes(words), `${name}: ${words}`).toBe(true);
  }
});

test('an invoice keeps the kind of key that it was first claimed with, whatever is switched later', () => {
  const keyOff = [
    { from: '2026-01-01T10', until: '2026-01-01T11' },
    { from: '2026-01-01T12', until: '9999' },
  ];
  const own = ['09:59', '10:00', '10:59', '11:00', '12:30'].map((time) =>
    hasOwnKey({ keyOff }, `2026-01-01T${time}`),
  );
  expect(own).toEqual([false, true, true, false, true]);
});

test('all of it follows from its seed, ends within its minute, and has everything', () => {
  expect(allOfIt(7, 3)).toEqual(allOfIt(7, 3));
  expect(allOfIt(8, 3)).not.toEqual(allOfIt(7, 3));
  const mishaps = Array.from({ length: 20 }, (_, seed) => allOfIt(seed, 3)).flat();
  expect(Math.max(...mishaps.map(({ at }) => at))).toBeLessThan(allOfItMs);
  const kinds = mishaps.map((mishap) => {
    if (mishap.kind === 'deploy') return 'deploy';
    return mishap.kind === 'host' ? mishap.what : mishap.fault;
  });
  expect(new Set(kinds)).toEqual(new Set([...faultIds, ...Object.keys(hostFaults), 'deploy']));
});

test('all of it has exactly one deployment, in its turn and in the first half of the minute, whatever the seed', () => {
  const moments = Array.from({ length: 500 }, (_, seed) => {
    const mishaps = allOfIt(seed, 3);
    expect(mishaps).toEqual(mishaps.toSorted((one, other) => one.at - other.at));
    const deployments = mishaps.filter(({ kind }) => kind === 'deploy');
    expect(deployments, `seed ${seed}`).toHaveLength(1);
    return deployments[0]?.at ?? allOfItMs;
  });
  expect(Math.max(...moments)).toBeLessThanOrEqual(allOfItMs / 2);
  expect(new Set(moments).size).toBeGreaterThan(400);
});
