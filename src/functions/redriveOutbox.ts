import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('redriveOutbox', {
  route: 'ops/outbox/{id}/redrive',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.redriveOutbox(request),
});
