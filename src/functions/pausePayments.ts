import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('pausePayments', {
  route: 'ops/pause',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.pausePayments(request),
});
