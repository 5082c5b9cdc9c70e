import { app } from '@azure/functions';
import { queuedMessage } from '@payonce/jobs/work-items';
import { payonce } from '../payonce.ts';
import { queues, serviceBusQueues } from '../platform/azureNames.ts';

const connection = 'AzureWebJobsStorage';

app.serviceBusQueue('executePayments', {
  queueName: serviceBusQueues.paymentCommands,
  connection: 'ServiceBus',
  handler: async (message, context) =>
    context.log(JSON.stringify(await payonce.executePayments(message, context.triggerMetadata))),
});

app.storageQueue('processWorkItem', {
  queueName: queues.workItems,
  connection,
  handler: async (message) => {
    await payonce.processWorkItem(queuedMessage(message));
  },
});

app.storageQueue('recordPoison', {
  queueName: queues.workItemsPoison,
  connection,
  handler: async (message, context) =>
    context.error(await payonce.recordPoison(queuedMessage(message), String(context.triggerMetadata?.id))),
});
