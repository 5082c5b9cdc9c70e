import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { queues } from '../platform/azureNames.ts';
import { queuedMessage } from '../platform/queuedMessage.ts';

app.storageQueue('processWorkItem', {
  queueName: queues.workItems,
  connection: 'AzureWebJobsStorage',
  handler: async (message) => {
    await payonce.processWorkItem(queuedMessage(message));
  },
});
