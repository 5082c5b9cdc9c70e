import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('recountFigures', {
  route: 'ops/recount',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.recountFigures(request),
});
