import { app } from '@azure/functions';
import { archiveSchedule } from '../archive/archiving.ts';
import { payonce } from '../payonce.ts';
import { logTick } from '../platform/logTick.ts';

app.timer('archiveInvoices', {
  schedule: archiveSchedule,
  handler: async (timer, context) =>
    logTick(context, (await payonce.archiveInvoices(timer, context)) ?? null),
});
