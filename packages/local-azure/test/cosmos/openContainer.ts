import { createHmac, randomUUID } from 'node:crypto';
import { type Container, type ContainerRequest, CosmosClient } from '@azure/cosmos';
import { afterAll } from 'vitest';
import { type Cosmos, type CosmosOptions, startCosmos } from '../../src/cosmos/index.ts';

const opened: { dispose(): unknown }[] = [];

afterAll(async () => {
  for (const each of opened.reverse()) await each.dispose();
});

/** Starts a stand-in shared by all tests of a file and stops it after them. */
export async function cosmosForFile(options: CosmosOptions = {}): Promise<Cosmos> {
  const cosmos = await startCosmos(options);
  opened.push({ dispose: () => cosmos.stop() });
  return cosmos;
}

/** The real SDK on a stand-in. By default it does not retry when throttled. */
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

/** A new container in a new database, partitioned by `/pk` unless the definition says otherwise. */
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

/** The parts of the SDK's error that tests check. A batch's error has them on its cause. */
export interface Refusal {
  code: number | string | undefined;
  substatus: number | undefined;
  message: string;
  retryAfterInMs: number | undefined;
}

/** The refusal that a call ends in. Throws if the call succeeds. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (thrown) {
    const { code, substatus, message, retryAfterInMs, cause } = thrown as Refusal & { cause?: Refusal };
    if (code === undefined && cause !== undefined) return cause;
    return { code, substatus, message, retryAfterInMs };
  }
  throw new Error('the call succeeded; expected a refusal');
}

/** Sends a request to `/_local/` and resolves to the status and parsed body of the answer. */
export async function local(cosmos: Pick<Cosmos, 'endpoint'>, method: string, path: string, body?: unknown) {
  const response = await fetch(`${cosmos.endpoint}_local/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

/** Sends a signed REST request, for what the SDK cannot send. `date` defaults to now. */
export function sendSigned(
  { endpoint, key }: Pick<Cosmos, 'endpoint' | 'key'>,
  method: string,
  request: {
    type: string;
    link: string;
    path: string;
    headers?: Record<string, string>;
    body?: string;
    date?: Date;
  },
): Promise<Response> {
  const { type, link, path, headers = {}, body, date = new Date() } = request;
  const at = date.toUTCString();
  const payload = `${method.toLowerCase()}\n${type}\n${link}\n${at.toLowerCase()}\n\n`;
  const sig = createHmac('sha256', Buffer.from(key, 'base64')).update(payload).digest('base64');
  const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${sig}`);
  return fetch(`${endpoint}${path}`, {
    method,
    headers: { ...headers, authorization, 'x-ms-date': at },
    ...(body === undefined ? {} : { body }),
  });
}
