import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';

app.http('startRun', {
  route: 'ops/runs',
  methods: ['POST'],
  authLevel: 'function',
  extraInputs: [df.input.durableClient()],
  handler: (request, context) => payonce.ops.startRun(request, df.getClient(context)),
});
