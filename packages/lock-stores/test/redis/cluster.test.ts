import { createClient } from '@redis/client';
import { expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { freePort } from '../../../../test/support/servers/freePort.ts';
import { redisPrograms, startRedis } from '../../../../test/support/servers/redis.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { createLocks } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { never } from '../../../leases/src/testing/subject.ts';
import { redisKeys } from '../../src/redis/redisKeys.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

const slots = 16_384;
const share = Math.ceil(slots / 3);
const prefix = 'payonce:locks:';

/** Three nodes, each with a third of the slots. */
async function startCluster() {
  const nodes = await Promise.all(
    [1, 2, 3].map(async () => {
      const settings = ['--save', '', '--cluster-enabled', 'yes', '--cluster-port', String(await freePort())];
      const server = await startRedis([...settings, '--cluster-node-timeout', '5000']);
      const admin = createClient({ url: server.url });
      await admin.connect();
      const ask = (...command: string[]) => admin.sendCommand(command);
      return { server, admin, ask, id: await admin.clusterMyId(), bus: settings.at(-1) ?? '' };
    }),
  );
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  for (const [i, { ask }] of nodes.entries()) {
    const last = Math.min(slots, (i + 1) * share) - 1;
    await ask('CLUSTER', 'ADDSLOTSRANGE', String(i * share), String(last));
    const { server, bus } = first;
    if (i > 0) await ask('CLUSTER', 'MEET', '127.0.0.1', String(server.port), bus);
  }
  for (const { admin } of nodes) {
    await until(
      () => admin.clusterInfo(),
      (info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3'),
    );
  }
  return {
    nodes,
    rootNodes: nodes.map(({ server }) => ({ url: server.url })),
    async [Symbol.asyncDispose]() {
      for (const { admin } of nodes) admin.destroy();
      await Promise.all(nodes.map(({ server }) => server[Symbol.asyncDispose]()));
    },
  };
}

describeWith(redisPrograms, 'a Redis Cluster', () => {
  test('each node has the locks of its slots, and a lock that moves is found again', async () => {
    await using cluster = await startCluster();
    const { nodes, rootNodes } = cluster;
    await using store = redisLockStore({ rootNodes });
    const locks = createLocks(store, { clock: systemClock, telemetry: noTelemetry, leaseSeconds: 30 });
    const owner = { instance: 'web-1', job: 'cluster' };

    const keys = Array.from({ length: 30 }, (_, i) => `jobs/{${i}}`);
    const leases = await Promise.all(keys.map((key) => locks.acquire(key, owner, { waitMs: 30_000 })));
    const listed: string[] = [];
    for await (const { key, held } of store.list?.('jobs/', never) ?? []) if (held) listed.push(key);
    expect(listed.toSorted()).toEqual(keys.toSorted());
    for (const { admin } of nodes) expect(await admin.dbSize()).toBeGreaterThan(0);
    for (const lease of leases) await lease.release();

    const [source, , target] = nodes;
    const ofSource = async (key: string) => ((await source?.admin.clusterKeySlot(key)) ?? slots) < share;
    let moving = 'moves';
    while (!(await ofSource(redisKeys(prefix, moving).record))) moving += '!';
    const { record } = redisKeys(prefix, moving);
    const slot = String(await source?.admin.clusterKeySlot(record));
    for (const node of nodes) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target?.id ?? '');
    await using moved = await locks.acquire(moving, owner, { waitMs: 30_000 });
    expect(await target?.admin.hGet(record, 'record')).toContain(`"fence":${moved.fence}`);
  });
});
