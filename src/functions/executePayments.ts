import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';
import { serviceBusQueues } from '../platform/azureNames.ts';

app.serviceBusQueue('executePayments', {
  queueName: serviceBusQueues.paymentCommands,
  connection: 'ServiceBus',
  handler: async (message, context) =>
    context.log(JSON.stringify(await payonce.executePayments(message, context.triggerMetadata))),
});
