import { app } from '@azure/functions';
import { streamedResponses } from '../platform/streamedResponses.ts';

/** Streams are on or off for all HTTP functions of a process. */
app.setup({ enableHttpStream: true });

export const responses = streamedResponses();

app.hook.postInvocation(({ error, invocationContext }) => {
  if (error !== undefined && error !== null) responses.fail(invocationContext.invocationId);
});
