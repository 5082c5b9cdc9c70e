import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listRejected', {
  route: 'ops/imports/{id}/rejected',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listRejected(request),
});
