import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('restoreInvoice', {
  route: 'ops/invoices/{id}/restore',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.restoreInvoice(request),
});
