import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.timer('trackPayments', {
  schedule: payonce.settings.outboxSchedule,
  handler: async (_timer, context) => context.log(JSON.stringify(await payonce.trackPayments())),
});
