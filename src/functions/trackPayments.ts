import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { logTick } from '../platform/logTick.ts';

app.timer('trackPayments', {
  schedule: payonce.settings.outboxSchedule,
  handler: async (_timer, context) => logTick(context, await payonce.trackPayments()),
});
