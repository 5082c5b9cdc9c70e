import { expect, test } from 'vitest';
import { createHttpServer } from '../../../src/functionsHost/http/httpServer.ts';

function serve(name: string, route?: string) {
  return createHttpServer({
    functions: [
      {
        name,
        triggerName: 'request',
        durableClients: [],
        inputs: [],
        outputs: [],
        trigger: { type: 'http', authLevel: 'anonymous', methods: ['GET'], route },
      },
    ],
    routePrefix: 'api',
    keys: undefined,
    invoker: { invoke: async () => ({}), idle: async () => {}, running: new Map() },
    worker: { current: () => new Promise(() => {}) },
    handlers: [],
  });
}

test.each([
  ['report', 'admin/report'],
  ['report', '/runtime'],
  ['administrate', undefined],
])('function %s with the route %s is refused', (name, route) => {
  expect(() => serve(name, route)).toThrow(`function ${name}: the route`);
});

test('the reserved names are fine anywhere else in a route', () => {
  expect(() => serve('report', 'ops/admin')).not.toThrow();
});
