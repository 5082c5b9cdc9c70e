import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePorts } from '../../../packages/local-azure/src/freePorts.ts';
import { startTcpProxy, type TcpProxy } from '../tcpProxy.ts';
import { findProgram } from './findProgram.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

/** Where Debian has it. The jar names those that it needs, but for a codec of Netty (TLS) and what writes the log. */
const jar = '/usr/share/java/zookeeper.jar';
const classPath = `${jar}:/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar`;

export const zooKeeperPrograms = {
  java: findProgram('java'),
  'zookeeper.jar': existsSync(jar) ? jar : undefined,
};

export interface ZooKeeperProcess extends ServerProcess {
  port: number;
  /** `127.0.0.1:port` */
  address: string;
  /** `standalone`, `leader` or `follower`. Rejects while it serves nobody. */
  mode: () => Promise<string>;
}

type Settings = Readonly<Record<string, string | number>>;

/** Starts one ZooKeeper server by itself, with further settings such as `{ maxClientCnxns: 60 }`. */
export async function startZooKeeper(tickMs: number, settings: Settings = {}): Promise<ZooKeeperProcess> {
  const [client = 0] = await freePorts(1);
  return startMember(1, client, { tickTime: tickMs, ...settings });
}

/** One of an ensemble. */
export interface ZooKeeperMember {
  server: ZooKeeperProcess;
  /** Proxies between it and each leader that it may follow. Empty without proxies. */
  toLeader: Map<ZooKeeperMember, TcpProxy>;
}

/**
 * Starts three servers that form an ensemble. With proxies a follower can be cut off from its leader; but a change of leader
 * then takes 20 s, since a proxy answers for a leader that is not there yet.
 */
export async function startZooKeeperEnsemble(
  tickMs: number,
  { proxies = false }: { proxies?: boolean } = {},
): Promise<AsyncDisposable & { members: ZooKeeperMember[] }> {
  await using undo = new AsyncDisposableStack();
  const ports = await freePorts(9);
  const places = [0, 1, 2].map((i) => {
    const [client = 0, peers = 0, elections = 0] = ports.slice(3 * i);
    return { client, peers, elections };
  });
  const members = await Promise.all(
    places.map(async ({ client }, from) => {
      const links: (TcpProxy | undefined)[] = [];
      const settings: Record<string, string | number> = { tickTime: tickMs };
      for (const [to, { peers, elections }] of places.entries()) {
        const link = proxies && from !== to ? undo.use(await startTcpProxy({ port: peers })) : undefined;
        links.push(link);
        settings[`server.${to + 1}`] = `127.0.0.1:${link?.port ?? peers}:${elections}`;
      }
      return { server: undo.use(await startMember(from + 1, client, settings)), links, toLeader: new Map() };
    }),
  );
  for (const { links, toLeader } of members) {
    for (const [to, link] of links.entries()) if (link !== undefined) toLeader.set(members[to], link);
  }
  const started = undo.move();
  return { members, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function startMember(id: number, client: number, settings: Settings): Promise<ZooKeeperProcess> {
  const { java } = zooKeeperPrograms;
  if (java === undefined) throw new Error('Java is not installed');

  async function mode(): Promise<string> {
    const socket = connect(client, '127.0.0.1');
    const late = setTimeout(() => socket.destroy(new Error('no answer')), 1_000);
    try {
      // Not `end`: a server on Netty would leave before it answers.
      socket.write('srvr');
      const [, found] = /^Mode: (\w+)$/m.exec(await text(socket)) ?? [];
      if (found === undefined) throw new Error('ZooKeeper serves nobody yet');
      return found;
    } finally {
      clearTimeout(late);
    }
  }

  const server = await startServer({
    name: `zookeeper${id}`,
    command: java,
    args(folder) {
      const options = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath];
      return [...options, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', `${folder}/zoo.cfg`];
    },
    async prepare(folder) {
      const all = {
        dataDir: `${folder}/data`,
        clientPort: client,
        clientPortAddress: '127.0.0.1',
        initLimit: 40,
        syncLimit: 20,
        maxClientCnxns: 0,
        'admin.enableServer': false,
        ...settings,
      };
      await mkdir(all.dataDir);
      await writeFile(`${all.dataDir}/myid`, `${id}`);
      const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
      await writeFile(`${folder}/zoo.cfg`, lines.join(''));
    },
    ready: mode,
  });
  return { ...server, port: client, address: `127.0.0.1:${client}`, mode };
}
