import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listAudit', {
  route: 'ops/audit',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listAudit(request),
});
