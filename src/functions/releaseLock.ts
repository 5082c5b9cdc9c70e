import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('releaseLock', {
  route: 'ops/locks/release',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.releaseLock(request),
});
