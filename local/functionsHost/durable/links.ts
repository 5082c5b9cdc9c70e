/** Addresses of the public webhooks, as the extension gives them to clients. */

export const webhookPath = '/runtime/webhooks/durabletask/';

export interface ManagementUrls {
  id: string;
  statusQueryGetUri: string;
  sendEventPostUri: string;
  terminatePostUri: string;
  suspendPostUri: string;
  resumePostUri: string;
  rewindPostUri: string;
  restartPostUri: string;
  purgeHistoryDeleteUri: string;
}

/** @param baseUrl origin of the host, without a trailing slash */
export function managementUrls(baseUrl: string, hubName: string, instanceId: string): ManagementUrls {
  const instance = `${baseUrl}${webhookPath}instances/${encodeURIComponent(instanceId)}`;
  const query = `taskHub=${hubName}&connection=Storage`;
  return {
    id: instanceId,
    statusQueryGetUri: `${instance}?${query}`,
    sendEventPostUri: `${instance}/raiseEvent/{eventName}?${query}`,
    terminatePostUri: `${instance}/terminate?reason={text}&${query}`,
    suspendPostUri: `${instance}/suspend?reason={text}&${query}`,
    resumePostUri: `${instance}/resume?reason={text}&${query}`,
    rewindPostUri: `${instance}/rewind?reason={text}&${query}`,
    restartPostUri: `${instance}/restart?${query}`,
    purgeHistoryDeleteUri: `${instance}?${query}`,
  };
}

/**
 * The data of a `durableClient` binding
 * (durable-functions/lib/src/durableClient/OrchestrationClientInputData.js).
 */
export function clientBinding(baseUrl: string, hubName: string) {
  const orchestrators = `${baseUrl}${webhookPath}orchestrators/{functionName}[/{instanceId}]`;
  return {
    taskHubName: hubName,
    creationUrls: {
      createNewInstancePostUri: `${orchestrators}?`,
      createAndWaitOnNewInstancePostUri: `${orchestrators}?timeout={timeoutInSeconds}&pollingInterval={intervalInSeconds}`,
    },
    managementUrls: managementUrls(baseUrl, hubName, 'INSTANCEID'),
    baseUrl: `${baseUrl}${webhookPath.replace(/\/$/, '')}`,
    requiredQueryStringParameters: '',
    rpcBaseUrl: `${baseUrl}${webhookPath}`,
  };
}
