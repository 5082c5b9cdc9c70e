import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { queues } from '../platform/azureNames.ts';
import { queuedMessage } from '../platform/queuedMessage.ts';

app.storageQueue('recordPoison', {
  queueName: queues.workItemsPoison,
  connection: 'AzureWebJobsStorage',
  handler: async (message, context) =>
    context.error(await payonce.recordPoison(queuedMessage(message), String(context.triggerMetadata?.id))),
});
