import { readdirSync, readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/ops/openApi/openApiDocument.ts';
import { operationsOf } from '../../src/ops/openApi/operations.ts';

const document = openApiDocument({ job: 'process-invoices', version: '1.2.3' });

test('the document has nothing that a linter finds fault with', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    // The address of a deployment is its own, and the platform's 401 is not a problem of ours.
    rules: { 'no-server-example.com': 'off', 'operation-4xx-response': 'error' },
  });
  const found = await lintFromString({ source: JSON.stringify(document), config });
  expect(
    found.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`),
  ).toEqual([]);
});

test('every HTTP function of ops is in the document, and nothing else is', () => {
  const folder = new URL('../../src/functions/', import.meta.url);
  const routes = readdirSync(folder).flatMap((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const found = /app\.http\('(\w+)', \{\s*route: '(ops\/[^']+)',\s*methods: \['(\w+)'\]/.exec(text);
    // The dashboard's page is no call.
    return found === null || found[1] === 'getDashboard' ? [] : [`${found[3]} ${found[2]} ${found[1]}`];
  });
  const described = operationsOf('process-invoices').map(
    ({ id, method, path }) => `${method.toUpperCase()} ${path} ${id}`,
  );
  expect(described.toSorted()).toEqual(routes.toSorted());
});

test('parameters and bodies come from the schemas that read the requests', () => {
  expect(document.paths['/ops/invoices/{id}/refund']?.post).toMatchObject({
    parameters: [
      { name: 'id', in: 'path', required: true },
      { name: 'Idempotency-Key', in: 'header', required: true },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            required: ['reason'],
            additionalProperties: false,
            properties: { amountMinor: { type: 'integer' }, reason: { type: 'string', maxLength: 500 } },
          },
        },
      },
    },
  });
  expect(document.paths['/ops/invoices/{id}/retry']?.post).toMatchObject({
    requestBody: { required: false },
  });
  expect(document.paths['/ops/invoices']?.get).toMatchObject({
    parameters: [
      { name: 'customer', in: 'query', required: false },
      { name: 'currency' },
      { name: 'status', schema: { enum: expect.arrayContaining(['parked']) as unknown } },
      { name: 'dueAfter' },
      { name: 'dueBefore' },
      { name: 'continuation' },
    ],
  });
});
