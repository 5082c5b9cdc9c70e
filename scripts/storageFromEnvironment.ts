import { DefaultAzureCredential } from '@azure/identity';
import { BlobServiceClient } from '@azure/storage-blob';
import { z } from 'zod';

/** The blobs of the app's storage account, from the same environment variables. */
export const storageFromEnvironment = z.union(
  [
    z
      .object({ AzureWebJobsStorage: z.string() })
      .transform((given) => BlobServiceClient.fromConnectionString(given.AzureWebJobsStorage)),
    z
      .object({ AzureWebJobsStorage__accountName: z.string() })
      .transform(
        ({ AzureWebJobsStorage__accountName: name }) =>
          new BlobServiceClient(`https://${name}.blob.core.windows.net`, new DefaultAzureCredential()),
      ),
  ],
  { error: 'expected AzureWebJobsStorage or AzureWebJobsStorage__accountName in the environment' },
);
