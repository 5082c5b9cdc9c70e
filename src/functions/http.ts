import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { serveDashboard } from '../dashboard/serveDashboard.ts';
import { callIds, calls } from '../ops/calls.ts';
import { payonce } from '../payonce.ts';
import { streamedResponses } from '../platform/streamedResponses.ts';

/** Streams are on or off for all HTTP functions of a process. */
app.setup({ enableHttpStream: true });

const responses = streamedResponses();

app.hook.postInvocation(({ error, invocationContext }) => {
  if (error !== undefined && error !== null) responses.fail(invocationContext.invocationId);
});

for (const id of callIds) {
  const { method, route, durable } = calls[id];
  app.http(id, {
    route,
    methods: [method],
    authLevel: 'function',
    ...(durable && { extraInputs: [df.input.durableClient()] }),
    async handler(request, context) {
      const { body, ...answer } = await payonce.ops[id](request, durable && df.getClient(context));
      if (typeof body !== 'object') return { ...answer, body };
      return { ...answer, body: responses.paced(context.invocationId, body) };
    },
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
