import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('refundInvoice', {
  route: 'ops/invoices/{id}/refund',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.refundInvoice(request),
});
