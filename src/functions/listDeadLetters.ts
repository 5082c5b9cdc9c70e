import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listDeadLetters', {
  route: 'ops/dead-letters',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listDeadLetters(request),
});
