import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { logTick } from '../platform/logTick.ts';

app.timer('processInvoices', {
  schedule: payonce.settings.invoiceSchedule,
  handler: async (_timer, context) => logTick(context, await payonce.processInvoices()),
});
