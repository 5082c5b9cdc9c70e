import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.storageQueue('recordPoison', {
  queueName: 'work-items-poison',
  connection: 'AzureWebJobsStorage',
  handler: async (message, context) =>
    context.error(await payonce.recordPoison(message, String(context.triggerMetadata?.id))),
});
