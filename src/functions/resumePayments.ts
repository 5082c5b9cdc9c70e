import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';

app.http('resumePayments', {
  route: 'ops/resume',
  methods: ['POST'],
  authLevel: 'function',
  extraInputs: [df.input.durableClient()],
  handler: (request, context) => payonce.ops.resumePayments(request, df.getClient(context)),
});
