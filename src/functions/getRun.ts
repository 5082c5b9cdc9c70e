import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getRun', {
  route: 'ops/runs/{id}',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getRun(request),
});
