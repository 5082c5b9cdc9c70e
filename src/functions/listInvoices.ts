import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('listInvoices', {
  route: 'ops/invoices',
  methods: ['GET'],
  authLevel: 'function',
  handler: (request) => payonce.ops.listInvoices(request),
});
