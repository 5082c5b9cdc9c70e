import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('retryInvoice', {
  route: 'ops/invoices/{id}/retry',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.retryInvoice(request),
});
