import { app } from '@azure/functions';
import { payonce } from '../payonce.ts';

app.http('receiveEvent', {
  route: 'payments/events',
  methods: ['POST'],
  // The signature is the credential.
  authLevel: 'anonymous',
  handler: (request) => payonce.receiveEvent(request),
});
