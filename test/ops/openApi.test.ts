import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { calls } from '../../src/ops/calls.ts';
import { openApiDocument } from '../../src/ops/openApiDocument.ts';

const document = openApiDocument({ calls, version: '1.2.3' });

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

test('every call is in the document, under its route, method and name', () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
  );
  const declared = Object.entries(calls).map(
    ([id, { method, route }]) => `${method.toLowerCase()} /${route} ${id}`,
  );
  expect(described.toSorted()).toEqual(declared.toSorted());
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
      { name: 'undecided' },
      { name: 'only', schema: { enum: expect.arrayContaining(['refunded']) as unknown } },
      { name: 'run' },
      { name: 'counted' },
      { name: 'sort' },
      { name: 'continuation' },
    ],
  });
});
