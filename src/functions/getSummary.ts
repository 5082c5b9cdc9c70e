import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getSummary', {
  route: 'ops/summary',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getSummary(request),
});
