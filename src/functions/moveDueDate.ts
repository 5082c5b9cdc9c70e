import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('moveDueDate', {
  route: 'ops/invoices/{id}',
  methods: ['PATCH'],
  authLevel: 'function',
  handler: (request) => payonce.ops.moveDueDate(request),
});
