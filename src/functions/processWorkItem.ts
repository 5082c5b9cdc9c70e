import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { queues } from '../platform/azureNames.ts';

app.storageQueue('processWorkItem', {
  queueName: queues.workItems,
  connection: 'AzureWebJobsStorage',
  handler: async (message) => {
    await payonce.processWorkItem(message);
  },
});
