import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('importInvoices', {
  route: 'ops/invoices',
  methods: ['POST'],
  authLevel: 'function',
  handler: (request) => payonce.ops.importInvoices(request),
});
