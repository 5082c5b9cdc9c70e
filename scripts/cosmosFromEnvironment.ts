import { DefaultAzureCredential } from '@azure/identity';
import { z } from 'zod';

/** Options of a client for the app's Cosmos DB, from the app's own environment variables. */
export const cosmosFromEnvironment = z.union(
  [
    z.object({ Cosmos: z.string() }).transform(({ Cosmos }) => ({ connectionString: Cosmos })),
    z.object({ Cosmos__accountEndpoint: z.url() }).transform(({ Cosmos__accountEndpoint: endpoint }) => ({
      endpoint,
      aadCredentials: new DefaultAzureCredential(),
    })),
  ],
  { error: 'expected Cosmos or Cosmos__accountEndpoint in the environment' },
);
