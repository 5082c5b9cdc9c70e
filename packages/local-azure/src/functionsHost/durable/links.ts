/** Addresses of the public webhooks, as the extension gives them to clients. */

export const webhookPath = '/runtime/webhooks/durabletask/';

/** Values that a link to a webhook carries besides its path. */
export interface LinkQuery {
  hubName: string;
  /** The key that the webhooks ask for; undefined if they ask for none. */
  key: string | undefined;
}

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
export function managementUrls(
  baseUrl: string,
  { hubName, key }: LinkQuery,
  instanceId: string,
): ManagementUrls {
  const instance = `${baseUrl}${webhookPath}instances/${encodeURIComponent(instanceId)}`;
  const code = key === undefined ? '' : `&code=${key}`;
  const query = `taskHub=${hubName}&connection=Storage${code}`;
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
 * (durable-functions/lib/src/durableClient/OrchestrationClientInputData.js). `rpcBaseUrl`: where the client itself calls,
 * without a key.
 */
export function clientBinding(baseUrl: string, rpcBaseUrl: string, link: LinkQuery) {
  const orchestrators = `${baseUrl}${webhookPath}orchestrators/{functionName}[/{instanceId}]`;
  const code = link.key === undefined ? '' : `code=${link.key}`;
  return {
    taskHubName: link.hubName,
    creationUrls: {
      createNewInstancePostUri: `${orchestrators}?${code}`,
      createAndWaitOnNewInstancePostUri: `${orchestrators}?timeout={timeoutInSeconds}&pollingInterval={intervalInSeconds}${code === '' ? '' : `&${code}`}`,
    },
    managementUrls: managementUrls(baseUrl, link, 'INSTANCEID'),
    baseUrl: `${baseUrl}${webhookPath.replace(/\/$/, '')}`,
    requiredQueryStringParameters: code,
    rpcBaseUrl,
  };
}
