import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listOutbox', {
  route: 'ops/outbox',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listOutbox(request),
});
