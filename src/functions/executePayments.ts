import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.serviceBusQueue('executePayments', {
  queueName: 'payment-commands',
  connection: 'ServiceBus',
  handler: async (message, context) =>
    context.log(JSON.stringify(await payonce.executePayments(message, context.triggerMetadata))),
});
