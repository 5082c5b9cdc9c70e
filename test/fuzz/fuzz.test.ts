import { expect, test } from 'vitest';
import { httpRoutes } from '../support/httpRoutes.ts';
import { fuzzOneHost } from './startFuzzed.ts';

test('every route is known', () => {
  const routes = httpRoutes().map(({ method, path }) => `${method} ${path}`);
  expect(routes.length).toBeGreaterThan(25);
  expect(routes).toContain('POST ops/invoices');
  expect(routes).toContain('PATCH ops/invoices/{id}');
});

test('odd requests: no 5xx, no secret, no good row lost, nothing changed, no invocation left open', async () => {
  const { problems, rows, statuses } = await fuzzOneHost({ requests: 600, seed: 17 });
  expect(problems).toEqual([]);
  expect(rows).toBeGreaterThan(10);
  expect(statuses.get(400)).toBeGreaterThan(100);
}, 180_000);
