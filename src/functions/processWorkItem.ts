import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.storageQueue('processWorkItem', {
  queueName: 'work-items',
  connection: 'AzureWebJobsStorage',
  handler: async (message) => {
    await payonce.processWorkItem(message);
  },
});
