/** Tests the lock store with answers that Azurite never gives, or not on demand. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AnonymousCredential, ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { blobLockStore } from '../../src/blobLockStore.ts';
import { createLocks } from '../../src/index.ts';

interface Answer {
  status: number;
  code?: string;
  headers?: Record<string, string>;
}

/** The next answers, in order. */
let answers: Answer[] = [];
let asked: string[] = [];
const server = createServer((request, response) => {
  request.resume();
  asked.push(
    `${request.method} ${new URL(request.url ?? '', 'http://blobs').searchParams.get('comp') ?? 'blob'}`,
  );
  const { status, code, headers = {} } = answers.shift() ?? { status: 500 };
  const body = code === undefined ? '' : `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  response.writeHead(status, {
    ...(code === undefined ? {} : { 'x-ms-error-code': code, 'content-type': 'application/xml' }),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const container = new ContainerClient(`http://127.0.0.1:${port}/account/locks`, new AnonymousCredential());
const store = blobLockStore(container);
const key = 'jobs/test';
const id = '11111111-1111-4111-8111-111111111111';
const { signal } = new AbortController();

function answer(...next: Answer[]): void {
  answers = next;
  asked = [];
}

beforeEach(() => answer());
afterAll(async () => {
  server.close();
  await once(server, 'close');
});

describe('acquire', () => {
  test.each(['LeaseAlreadyPresent', 'LeaseIsBreakingAndCannotBeAcquired'])('%s: held', async (code) => {
    answer({ status: 409, code });
    expect(await store.acquire(key, id, 15_000, signal)).toBe('held');
  });

  test.each(['ContainerBeingDeleted', 'BlobImmutableDueToPolicy'])(
    '%s is an error, not silent contention',
    async (code) => {
      answer({ status: 409, code });
      await expect(store.acquire(key, id, 15_000, signal)).rejects.toMatchObject({ code });
    },
  );

  test.each(['BlobNotFound', 'ContainerNotFound'])('%s: absent', async (code) => {
    answer({ status: 404, code });
    expect(await store.acquire(key, id, 15_000, signal)).toBe('absent');
  });
});

test.each([
  [400, 'InvalidHeaderValue'],
  [403, 'AuthorizationFailure'],
])('a lock that cannot be looked at says %i %s', async (status, code) => {
  answer({ status, code });
  const owner = { instance: 'one', job: 'test' };
  await expect(createLocks(store).tryAcquire(key, owner)).rejects.toThrow(
    `Cannot lock "${key}": ${status} ${code}`,
  );
});

describe('renew', () => {
  test.each([
    [409, 'LeaseIsBrokenAndCannotBeRenewed', 'broken'],
    [409, 'LeaseIdMismatchWithLeaseOperation', 'taken'],
    [409, 'LeaseNotPresentWithLeaseOperation', 'taken'],
    [404, 'BlobNotFound', 'deleted'],
    [404, 'ContainerNotFound', 'deleted'],
  ])('%i %s: %s', async (status, code, reason) => {
    answer({ status, code });
    expect(await store.renew(key, id, 15_000, signal)).toMatchObject({ kind: 'refused', reason });
  });

  test.each([403, 500, 503])('%i says nothing about the lease', async (status) => {
    answer({ status });
    await expect(store.renew(key, id, 15_000, signal)).rejects.toMatchObject({ statusCode: status });
    expect(asked).toHaveLength(1);
  });
});

describe('break', () => {
  test.each([
    [409, 'LeaseNotPresentWithLeaseOperation', 'notHeld'],
    [409, 'LeaseAlreadyBroken', 'notHeld'],
    [412, 'ConditionNotMet', 'changed'],
    [404, 'BlobNotFound', 'changed'],
  ])('%i %s: %s', async (status, code, outcome) => {
    answer({ status, code });
    expect(await store.break?.(key, '"1"', signal)).toBe(outcome);
  });

  test('another conflict is an error', async () => {
    answer({ status: 409, code: 'ContainerBeingDeleted' });
    await expect(store.break?.(key, '"1"', signal)).rejects.toMatchObject({ statusCode: 409 });
  });
});

describe('create', () => {
  const there: Answer = { status: 200, headers: { etag: '"2"', 'x-ms-lease-state': 'leased' } };

  test.each([
    [409, 'BlobAlreadyExists'],
    [412, 'LeaseIdMissing'],
    [412, 'ConditionNotMet'],
  ])('%i %s: the lock exists', async (status, code) => {
    answer({ status, code }, there);
    expect(await store.create(key, signal)).toMatchObject({ held: true, version: '"2"' });
  });

  test('a lock deleted right after it was found is created', async () => {
    const made: Answer = { status: 201, headers: { etag: '"3"' } };
    answer({ status: 409, code: 'BlobAlreadyExists' }, { status: 404, code: 'BlobNotFound' }, made);
    expect(await store.create(key, signal)).toMatchObject({ held: false, record: undefined, version: '"3"' });
    expect(asked).toEqual(['PUT blob', 'HEAD blob', 'PUT blob']);
  });

  test('a container that is being deleted is an error', async () => {
    answer({ status: 409, code: 'ContainerBeingDeleted' });
    await expect(store.create(key, signal)).rejects.toMatchObject({ code: 'ContainerBeingDeleted' });
  });
});
