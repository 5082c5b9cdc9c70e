import { freePorts } from '../../../packages/local-azure/src/freePorts.ts';
import { startTcpProxy, type TcpProxy } from '../tcpProxy.ts';
import { findProgram } from './findProgram.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

export const etcdPrograms = { etcd: findProgram('etcd') };

export interface EtcdServer extends ServerProcess {
  port: number;
  /** `http://127.0.0.1:port` */
  address: string;
  /** A request to the JSON gateway on its bare client, for what tests do behind a store's back. */
  ask: (path: string, body: unknown, ms?: number) => Promise<Record<string, unknown>>;
}

/** Starts one etcd by itself, with further options such as `{ 'auth-token-ttl': '1' }`. */
export async function startEtcd(options: Readonly<Record<string, string>> = {}): Promise<EtcdServer> {
  const [client = 0, peer = 0] = await freePorts(2);
  const alone = { cluster: `etcd=${url(peer)}`, advertised: url(peer) };
  return startMember({ name: 'etcd', client, peer, ...alone, options });
}

/** One of a cluster, and the proxy through which the others reach it. */
export interface EtcdMember {
  server: EtcdServer;
  peers: TcpProxy;
}

/** Starts three that form a cluster. */
export async function startEtcdCluster(): Promise<AsyncDisposable & { members: EtcdMember[] }> {
  await using undo = new AsyncDisposableStack();
  const ports = await freePorts(6);
  const [clients, listens] = [ports.slice(3), ports.slice(0, 3)];
  const proxies: TcpProxy[] = [];
  for (const port of listens) proxies.push(undo.use(await startTcpProxy({ port })));
  const cluster = proxies.map(({ port }, i) => `etcd${i}=${url(port)}`).join(',');
  const members = await Promise.all(
    proxies.map(async (peers, i): Promise<EtcdMember> => {
      const [client = 0, peer = 0] = [clients[i], listens[i]];
      const server = await startMember({
        name: `etcd${i}`,
        client,
        peer,
        cluster,
        advertised: url(peers.port),
      });
      return { server: undo.use(server), peers };
    }),
  );
  const started = undo.move();
  return { members, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

interface Member {
  name: string;
  client: number;
  peer: number;
  cluster: string;
  advertised: string;
  options?: Readonly<Record<string, string>>;
}

async function startMember({
  name,
  client,
  peer,
  cluster,
  advertised,
  options = {},
}: Member): Promise<EtcdServer> {
  const { etcd } = etcdPrograms;
  if (etcd === undefined) throw new Error('etcd is not installed');
  const address = url(client);

  async function ask(path: string, body: unknown, ms = 5_000): Promise<Record<string, unknown>> {
    const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(ms) };
    const response = await fetch(`${address}/v3/${path}`, request);
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Record<string, unknown>;
  }

  /** Also where a password is needed for everything else. */
  async function healthy(): Promise<void> {
    const { status } = await fetch(`${address}/health`, { signal: AbortSignal.timeout(1_000) });
    if (status !== 200) throw new Error(`etcd answers ${status}`);
  }

  const server = await startServer({
    name,
    command: etcd,
    args: (folder) => {
      const all = {
        name,
        'data-dir': `${folder}/data`,
        'listen-client-urls': address,
        'advertise-client-urls': address,
        'listen-peer-urls': url(peer),
        'initial-advertise-peer-urls': advertised,
        'initial-cluster': cluster,
        ...options,
      };
      return Object.entries(all).map(([option, value]) => `--${option}=${value}`);
    },
    ready: healthy,
  });
  return { ...server, port: client, address, ask };
}

function url(port: number): string {
  return `http://127.0.0.1:${port}`;
}
