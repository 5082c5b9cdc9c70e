import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('discardOutbox', {
  route: 'ops/outbox/{id}/discard',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.discardOutbox(request),
});
