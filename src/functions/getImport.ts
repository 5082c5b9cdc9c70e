import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getImport', {
  route: 'ops/imports/{id}',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getImport(request),
});
