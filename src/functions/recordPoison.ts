import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { queues } from '../platform/azureNames.ts';

app.storageQueue('recordPoison', {
  queueName: queues.workItemsPoison,
  connection: 'AzureWebJobsStorage',
  handler: async (message, context) =>
    context.error(await payonce.recordPoison(message, String(context.triggerMetadata?.id))),
});
