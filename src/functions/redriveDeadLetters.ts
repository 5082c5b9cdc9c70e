import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('redriveDeadLetters', {
  route: 'ops/dead-letters/redrive',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.redriveDeadLetters(request),
});
