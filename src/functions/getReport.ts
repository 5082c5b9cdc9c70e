import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getReport', {
  route: 'ops/report',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getReport(request),
});
