import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.timer('sweepOutbox', {
  schedule: payonce.settings.outboxSchedule,
  handler: async (_timer, context) => context.log(JSON.stringify(await payonce.sweepOutbox())),
});
