import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { contentSecurityPolicy, serveDashboard } from '../../src/dashboard/serveDashboard.ts';
import { removeFolder } from '../support/removeFolder.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-ui-'));
mkdirSync(join(folder, 'assets'));
writeFileSync(join(folder, 'index.html'), '<!doctype html>');
writeFileSync(join(folder, 'assets', 'index.js'), 'go();');
writeFileSync(join(folder, 'assets', 'index.js.map'), '{}');
afterAll(() => removeFolder(folder));

const serve = serveDashboard(folder);
const ask = (path: string | undefined, headers: Record<string, string> = {}) =>
  serve({ params: path === undefined ? {} : { path }, headers: new Headers(headers) });

test.each([undefined, '', 'index.html', 'invoices', 'invoices/INV-1', 'runs/a/b'])(
  'the path %j is a view: the page itself, which nobody keeps',
  (path) => {
    const { status = 200, headers, body } = ask(path);
    expect({ status, body: Buffer.from(body).toString() }).toEqual({ status: 200, body: '<!doctype html>' });
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
    });
  },
);

test('a script is asked for each time: its name stays the same', () => {
  const { headers, body } = ask('assets/index.js');
  expect(Buffer.from(body).toString()).toBe('go();');
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-cache',
  });
});

test.each(['assets/index-9z.js', 'assets/index.js.map', 'assets/../index.html', 'assets/'])(
  'an unknown asset, %s, is a 404 that nobody keeps: the page itself would be taken for a script',
  (path) => {
    const { status, headers } = ask(path);
    expect(status).toBe(404);
    expect(headers['cache-control']).toBe('no-store');
  },
);

test('what can be unpacked is sent packed', () => {
  const { headers, body } = ask('assets/index.js', { 'accept-encoding': 'br, gzip' });
  expect(headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(body).toString()).toBe('go();');
});

test('every answer forbids inline scripts, other origins, frames and sniffing', () => {
  for (const path of ['', 'assets/index.js', 'assets/none.js']) {
    expect(ask(path).headers).toMatchObject({
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
    });
  }
  expect(contentSecurityPolicy).not.toContain('unsafe');
});

test('a dashboard that is not built says how to build it', () => {
  const { status, body } = serveDashboard(join(folder, 'nowhere'))({ params: {}, headers: new Headers() });
  expect({ status, body }).toEqual({ status: 503, body: 'The dashboard is not built: run npm run build.\n' });
});
