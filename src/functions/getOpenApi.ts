import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getOpenApi', {
  route: 'ops/openapi.json',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getOpenApi(request),
});
