import { app } from '@azure/functions';
import { inTrace } from '@payonce/jobs/tracing';
import { stopPayonce } from '../payonce.ts';

/** The host has a span of each invocation. What a function does belongs to its trace. */
app.hook.preInvocation((invocation) => {
  const { traceParent } = invocation.invocationContext.traceContext ?? {};
  invocation.functionHandler = inTrace(traceParent, invocation.functionHandler);
});

app.hook.appTerminate(stopPayonce);
