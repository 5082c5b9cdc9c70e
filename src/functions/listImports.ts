import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listImports', {
  route: 'ops/imports',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listImports(request),
});
