import { type Container, CosmosClient } from '@azure/cosmos';
import { provisionCosmos } from '../../local/provision.ts';
import { type CosmosOptions, startCosmos } from '../../packages/local-azure/src/cosmos/index.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';

export interface PayonceCosmos extends AsyncDisposable {
  containers: Record<keyof typeof containers, Container>;
  /** The same containers, accessed with a wrong key. */
  denied: Record<keyof typeof containers, Container>;
  /** Arms a fault for the next `count` matching requests. See packages/local-azure/docs/cosmos.md. */
  fault(fault: {
    kind: string;
    count: number;
    filter?: Record<string, string>;
    delayMs?: number;
    retryAfterMs?: number;
  }): Promise<void>;
  /** Disarms all faults. */
  clearFaults(): Promise<void>;
  connectionString: string;
}

/** Partition key ranges of each container in tests: several, as in a grown account, so that the SDK has to merge. */
export const severalRanges = 3;

/** A separate in-memory Cosmos stand-in with the app's containers, accessed through the real SDK. */
export async function payonceCosmos(options: CosmosOptions = {}): Promise<PayonceCosmos> {
  const server = await startCosmos({ partitions: severalRanges, ...options });
  await provisionCosmos(server.connectionString);
  const client = new CosmosClient({
    connectionString: server.connectionString,
    connectionPolicy: {
      retryOptions: { maxRetryAttemptCount: 1, fixedRetryIntervalInMilliseconds: 1, maxWaitTimeInSeconds: 1 },
    },
  });
  const stranger = new CosmosClient({ endpoint: server.endpoint, key: 'bm90IHRoZSBrZXk=' });
  return {
    containers: containersOf(client),
    denied: containersOf(stranger),
    connectionString: server.connectionString,
    async fault(fault) {
      const response = await fetch(new URL('/_local/faults', server.endpoint), {
        method: 'POST',
        body: JSON.stringify(fault),
        headers: { 'content-type': 'application/json' },
      });
      if (!response.ok) throw new Error(await response.text());
    },
    async clearFaults() {
      await fetch(new URL('/_local/faults', server.endpoint), { method: 'DELETE' });
    },
    async [Symbol.asyncDispose]() {
      client.dispose();
      stranger.dispose();
      await server.stop();
    },
  };
}

function containersOf(client: CosmosClient): PayonceCosmos['containers'] {
  const database = client.database(databaseName);
  return {
    invoices: database.container(containers.invoices.name),
    workItems: database.container(containers.workItems.name),
    runs: database.container(containers.runs.name),
    pace: database.container(containers.pace.name),
    audit: database.container(containers.audit.name),
    locks: database.container(containers.locks.name),
  };
}
