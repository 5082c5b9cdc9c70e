import { randomUUID } from 'node:crypto';
import { type Container, type ContainerRequest, CosmosClient } from '@azure/cosmos';
import { afterAll } from 'vitest';
import { type Cosmos, type CosmosOptions, startCosmos } from '../../../local/cosmos/index.ts';

const opened: { dispose(): unknown }[] = [];

afterAll(async () => {
  for (const each of opened.reverse()) await each.dispose();
});

/** A stand-in for all tests of a file; it ends with them. */
export async function cosmosForFile(options: CosmosOptions = {}): Promise<Cosmos> {
  const cosmos = await startCosmos(options);
  opened.push({ dispose: () => cosmos.stop() });
  return cosmos;
}

/** The real SDK on a stand-in; gives up on a busy service at once unless told otherwise. */
export function clientOf({ connectionString }: Pick<Cosmos, 'connectionString'>, maxRetryAttemptCount = 0) {
  const client = new CosmosClient({
    connectionString,
    connectionPolicy: {
      retryOptions: {
        maxRetryAttemptCount,
        fixedRetryIntervalInMilliseconds: 0,
        maxWaitTimeInSeconds: 1,
      },
    },
  });
  opened.push(client);
  return client;
}

/** A new container in a database of its own, partitioned by `/pk` unless the definition says otherwise. */
export async function newContainer(
  cosmos: Pick<Cosmos, 'connectionString'>,
  definition: Partial<ContainerRequest> = {},
): Promise<Container> {
  const client = clientOf(cosmos);
  const { database } = await client.databases.create({ id: `db-${randomUUID()}` });
  const { container } = await database.containers.create({
    id: 'items',
    partitionKey: { paths: ['/pk'] },
    ...definition,
  });
  return container;
}

/** What the SDK throws, as far as tests look at it. A batch's error is in the cause of what is thrown. */
export interface Refusal {
  code: number | string | undefined;
  substatus: number | undefined;
  message: string;
  retryAfterInMs: number | undefined;
}

/** The refusal that a call ends in; fails when it succeeds. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (thrown) {
    const { code, substatus, message, retryAfterInMs, cause } = thrown as Refusal & { cause?: Refusal };
    if (code === undefined && cause !== undefined) return cause;
    return { code, substatus, message, retryAfterInMs };
  }
  throw new Error('the call was not refused');
}

/** A GET, POST or DELETE under `/_local/`; resolves to the JSON of the answer. */
export async function local(cosmos: Pick<Cosmos, 'endpoint'>, method: string, path: string, body?: unknown) {
  const response = await fetch(`${cosmos.endpoint}_local/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
