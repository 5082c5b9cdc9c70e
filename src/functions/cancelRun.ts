import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';

app.http('cancelRun', {
  route: 'ops/runs/{id}/cancel',
  methods: ['POST'],
  authLevel: 'function',
  extraInputs: [df.input.durableClient()],
  handler: (request, context) => payonce.ops.cancelRun(request, df.getClient(context)),
});
