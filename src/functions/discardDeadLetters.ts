import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('discardDeadLetters', {
  route: 'ops/dead-letters/discard',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.discardDeadLetters(request),
});
