import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getHealth', {
  route: 'ops/health',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getHealth(request),
});
