import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getOverview', {
  route: 'ops/overview',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getOverview(request),
});
