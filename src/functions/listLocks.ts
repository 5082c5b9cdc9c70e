import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listLocks', {
  route: 'ops/locks',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listLocks(request),
});
