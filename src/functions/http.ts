import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { serveDashboard } from '../dashboard/serveDashboard.ts';
import { callIds, calls } from '../ops/calls.ts';
import { payonce } from '../payonce.ts';

// HTTP streams stay off: with them, anybody can leave an invocation open until it times out and takes the worker with it
// (docs/threat-model.md).
for (const id of callIds) {
  const { method, route, durable } = calls[id];
  app.http(id, {
    route,
    methods: [method],
    authLevel: 'function',
    ...(durable && { extraInputs: [df.input.durableClient()] }),
    handler: (request, context) => payonce.ops[id](request, durable && df.getClient(context)),
  });
}

app.http('receiveEvent', {
  route: 'payments/events',
  methods: ['POST'],
  // The signature is the credential.
  authLevel: 'anonymous',
  handler: (request) => payonce.receiveEvent(request),
});

const serve = serveDashboard();

app.http('getDashboard', {
  route: 'ops/ui/{*path}',
  methods: ['GET'],
  // The page holds no data: it asks for the key.
  authLevel: 'anonymous',
  handler: async (request) => serve(request),
});
