import { app } from '@azure/functions';
import * as df from 'durable-functions';
import { payonce } from '../payonce.ts';

app.http('startBulk', {
  route: 'ops/bulk',
  methods: ['POST'],
  authLevel: 'function',
  extraInputs: [df.input.durableClient()],
  handler: (request, context) => payonce.ops.startBulk(request, df.getClient(context)),
});
