import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.timer('processInvoices', {
  schedule: payonce.settings.invoiceSchedule,
  handler: async (_timer, context) => context.log(JSON.stringify(await payonce.processInvoices())),
});
