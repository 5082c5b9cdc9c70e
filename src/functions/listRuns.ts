import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listRuns', {
  route: 'ops/runs',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listRuns(request),
});
