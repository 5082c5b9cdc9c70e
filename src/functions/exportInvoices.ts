import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { responses } from './httpStreams.ts';

app.http('exportInvoices', {
  route: 'ops/invoices.csv',
  methods: ['GET'],
  authLevel: 'function',
  async handler(request, { invocationId }) {
    const { body, ...answer } = await payonce.ops.exportInvoices(request);
    if (body === undefined || typeof body === 'string') return { ...answer, body };
    return { ...answer, body: responses.paced(invocationId, body) };
  },
});
