import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getMe', {
  route: 'ops/me',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getMe(request),
});
