/**
 * Compares leases with what else there is for Node, on the same server of each store and with the defaults of each
 * (`npm run bench -- lock-peers`):
 * - a cycle of acquire and release of a free lock, in short rounds that take turns: the median of the rounds;
 * - handover: eight clients, each with a connection of its own, want one lock and hold it for 10 to 30 ms; from the release to the next
 *   holder, and how many of these were another client, not the same one once more;
 * - share: the same clients with nothing to do under the lock; the turns of the one that got least, of an equal share.
 *
 * `--stores redis,postgres,etcd,zookeeper`, `--rounds N`, `--cycles N`, `--seconds N` for each of handover and share.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { etcdPrograms } from '../../test/support/servers/etcd.ts';
import { postgresPrograms } from '../../test/support/servers/postgres.ts';
import { redisPrograms } from '../../test/support/servers/redis.ts';
import { zooKeeperPrograms } from '../../test/support/servers/zooKeeper.ts';
import { etcdPeers } from './peersOnEtcd.ts';
import { postgresPeers } from './peersOnPostgres.ts';
import { redisPeers } from './peersOnRedis.ts';
import { zooKeeperPeers } from './peersOnZooKeeper.ts';

/** A client of a lock library with a connection of its own. */
export interface PeerClient extends AsyncDisposable {
  /** Takes the lock, however long that takes. Resolves with what gives it back. */
  acquire(key: string): Promise<() => Promise<unknown>>;
}

/** A lock library on one store. */
export interface Peer {
  name: string;
  open(): Promise<PeerClient>;
}

/** A server and the libraries that are compared on it. */
export interface Peers extends AsyncDisposable {
  peers: readonly Peer[];
}

const { values } = parseArgs({
  options: {
    stores: { type: 'string', default: 'redis,postgres,etcd,zookeeper' },
    rounds: { type: 'string', default: '15' },
    cycles: { type: 'string', default: '30' },
    seconds: { type: 'string', default: '5' },
  },
});
const [rounds, cycles, seconds] = [values.rounds, values.cycles, values.seconds].map(Number) as [
  number,
  number,
  number,
];
const contenders = 8;
/** Time for which clients connect and take turns before that counts (ms). */
const warmUpMs = 2_000;
/** Random, so that nobody who asks every 10 ms is in step with it (ms). */
const holdMs = () => 10 + 20 * Math.random();

const kinds: Record<
  string,
  { programs: Readonly<Record<string, string | undefined>>; start: () => Promise<Peers> }
> = {
  redis: { programs: redisPrograms, start: redisPeers },
  postgres: { programs: postgresPrograms, start: postgresPeers },
  etcd: { programs: etcdPrograms, start: etcdPeers },
  zookeeper: { programs: zooKeeperPrograms, start: zooKeeperPeers },
};

function quantile(numbers: readonly number[], part: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)] ?? Number.NaN;
}

/** Milliseconds per cycle by peer. */
async function cycleTimes(peers: readonly Peer[]): Promise<Map<Peer, number>> {
  const clients = await Promise.all(peers.map((peer) => peer.open()));
  const times = new Map(peers.map((peer): [Peer, number[]] => [peer, []]));
  for (let round = -3; round < rounds; round++) {
    for (const [n, peer] of peers.entries()) {
      const client = clients[n];
      if (client === undefined) continue;
      const startedAt = performance.now();
      for (let cycle = 0; cycle < cycles; cycle++) await (await client.acquire(`cycle-${n}`))();
      if (round >= 0) times.get(peer)?.push((performance.now() - startedAt) / cycles);
    }
  }
  for (const client of clients) await client[Symbol.asyncDispose]();
  return new Map([...times].map(([peer, found]) => [peer, quantile(found, 0.5)]));
}

/** Lets eight clients want one lock. Times from a release to the next holder (ms), and the turns of each client. */
async function contend(
  peer: Peer,
  workMs: () => number,
): Promise<{ handovers: number[]; toAnother: number; turns: number[] }> {
  const clients = await Promise.all(Array.from({ length: contenders }, () => peer.open()));
  const turns = clients.map(() => 0);
  const handovers: number[] = [];
  let releasedAt: number | undefined;
  let last: number | undefined;
  let toAnother = 0;
  let over = false;
  const startedAt = performance.now();
  const counts = () => !over && performance.now() - startedAt > warmUpMs;
  const ending = setTimeout(
    () => {
      over = true;
    },
    warmUpMs + seconds * 1000,
  );

  async function want(client: PeerClient, n: number): Promise<void> {
    while (!over) {
      const release = await client.acquire('contended');
      const now = performance.now();
      if (releasedAt !== undefined && counts()) {
        handovers.push(now - releasedAt);
        if (n !== last) toAnother++;
      }
      last = n;
      if (counts()) turns[n] = (turns[n] ?? 0) + 1;
      const work = workMs();
      if (work > 0) await delay(work);
      releasedAt = performance.now();
      await release();
    }
  }
  await Promise.all(clients.map(want));
  clearTimeout(ending);
  for (const client of clients) await client[Symbol.asyncDispose]();
  return { handovers, toAnother, turns };
}

const ms = (value: number) => value.toFixed(value < 10 ? 2 : 0);

for (const store of values.stores.split(',')) {
  const kind = kinds[store];
  const missing = Object.entries(kind?.programs ?? { [store]: undefined }).filter(([, path]) => !path);
  if (kind === undefined || missing.length > 0) {
    console.log(`${store}: left out, ${missing.map(([name]) => name).join(' and ')} is not here`);
    continue;
  }
  await using server = await kind.start();
  console.log(
    `\n| ${store} | cycle (ms) | handover p50 / max (ms) | to another client | turns a second | least share |`,
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  const cycle = await cycleTimes(server.peers);
  for (const peer of server.peers) {
    const { handovers, toAnother } = await contend(peer, holdMs);
    const { turns } = await contend(peer, () => 0);
    const total = turns.reduce((sum, one) => sum + one, 0);
    const least = (Math.min(...turns) / (total / contenders)).toFixed(2);
    const spread = `${ms(quantile(handovers, 0.5))} / ${ms(Math.max(...handovers))}`;
    const passed = `${Math.round((100 * toAnother) / handovers.length)} %`;
    const row = [
      peer.name,
      ms(cycle.get(peer) ?? Number.NaN),
      spread,
      passed,
      Math.round(total / seconds),
      least,
    ];
    console.log(`| ${row.join(' | ')} |`);
  }
}
process.exit();
