import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { type EtcdServer, etcdPrograms, startEtcd } from '../../../../test/support/servers/etcd.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { etcdLockStore } from '../../src/etcd/etcdLockStore.ts';

const within = (ms: number) => AbortSignal.timeout(ms);
const leaseMs = 5_000;

describeWith(etcdPrograms, 'the endpoints of etcd', async () => {
  const server = await startEtcd();
  afterAll(() => server[Symbol.asyncDispose]());

  test('a call that fails is not retried, and the next one goes to the next endpoint', async () => {
    const store = etcdLockStore(['http://127.0.0.1:1', server.address]);
    const key = randomUUID();
    await expect(store.create(key, within(5_000))).rejects.toThrow(/no answer from http:\/\/127\.0\.0\.1:1/);
    for (let calls = 0; calls < 3; calls++) await store.create(key, within(5_000));
    expect(await store.acquire(key, randomUUID(), leaseMs, within(5_000))).toBe('acquired');
  });

  test('without an endpoint every call is rejected', async () => {
    await expect(etcdLockStore([]).look('key', within(5_000))).rejects.toThrow(RangeError);
  });

  test('locks of different prefixes are different locks', async () => {
    const [first, second] = ['one/', 'two/'].map((prefix) => etcdLockStore(server.address, { prefix }));
    const [key, leaseId] = [randomUUID(), randomUUID()];
    for (const store of [first, second]) {
      await store?.create(key, within(5_000));
      expect(await store?.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    }
    expect(await first?.release(key, leaseId, within(5_000))).toBe('released');
    expect(await second?.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
  });

  test('lists more locks than fit on a page, in order, and which of them are held', async () => {
    const store = etcdLockStore(server.address);
    const prefix = `${randomUUID()}/`;
    const keys = Array.from({ length: 1_100 }, (_, i) => `${prefix}${String(i).padStart(4, '0')}`);
    await Promise.all(keys.map((key) => store.create(key, within(30_000))));
    const held = keys.filter((_, i) => i % 100 === 7);
    await Promise.all(held.map((key) => store.acquire(key, randomUUID(), 30_000, within(10_000))));
    const listed = await Array.fromAsync(store.list?.(prefix, within(10_000)) ?? []);
    expect(listed.map(({ key }) => key)).toEqual(keys);
    expect(listed.filter((lock) => lock.held).map(({ key }) => key)).toEqual(held);
  });

  test('a user signs in with the password in the endpoint, and again when its token has run out', async () => {
    await using guarded = await startEtcd({ 'auth-token-ttl': '1' });
    await guard(guarded, 'p@ss:word');
    const as = (user: string) => etcdLockStore(guarded.address.replace('//', `//${user}@`));
    const store = as('root:p%40ss%3Aword');
    await store.create('key', within(5_000));
    await expect(as('root:wrong').look('key', within(5_000))).rejects.toThrow(/authentication failed/);
    await expect(etcdLockStore(guarded.address).look('key', within(5_000))).rejects.toThrow(/user name/);
    await systemClock.sleep(2_500);
    expect(await store.acquire('key', randomUUID(), leaseMs, within(5_000))).toBe('acquired');
  });

  test('a user with a JWT signs in again after a change of users', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'payonce-jwt-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    });
    const [pub, priv] = ['public', 'private'].map((name) => join(folder, `${name}.pem`)) as [string, string];
    await Promise.all([writeFile(pub, publicKey), writeFile(priv, privateKey)]);
    const token = `jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256,ttl=10m`;
    await using guarded = await startEtcd({ 'auth-token': token });
    await guard(guarded, 'secret');
    const store = etcdLockStore(guarded.address.replace('//', '//root:secret@'));
    await store.create('key', within(5_000));
    await changeUsers(guarded, 'secret');
    expect(await store.acquire('key', randomUUID(), leaseMs, within(5_000))).toBe('acquired');
  });
});

/** Turns authentication on, for a user `root`. */
async function guard(server: EtcdServer, password: string): Promise<void> {
  await server.ask('auth/user/add', { name: 'root', password });
  await server.ask('auth/role/add', { name: 'root' });
  await server.ask('auth/user/grant', { user: 'root', role: 'root' });
  await server.ask('auth/enable', {});
}

async function changeUsers({ address, ask }: EtcdServer, password: string): Promise<void> {
  const { token } = await ask('auth/authenticate', { name: 'root', password });
  const answer = await fetch(`${address}/v3/auth/user/add`, {
    method: 'POST',
    headers: { authorization: String(token) },
    body: JSON.stringify({ name: 'another', password: 'secret' }),
  });
  expect(answer.status).toBe(200);
}
