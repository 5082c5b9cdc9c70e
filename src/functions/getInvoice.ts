import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('getInvoice', {
  route: 'ops/invoices/{id}',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.getInvoice(request),
});
