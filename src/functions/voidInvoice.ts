import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('voidInvoice', {
  route: 'ops/invoices/{id}/void',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.voidInvoice(request),
});
