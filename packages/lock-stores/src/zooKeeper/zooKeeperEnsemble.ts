import { untilAborted } from '../untilAborted.ts';
import {
  connectToZooKeeper,
  type ZooKeeperAccess,
  type ZooKeeperConnection,
  type ZooKeeperServer,
} from './zooKeeperConnection.ts';
import { closeSession } from './zooKeeperRequests.ts';

/** The servers that keep the same data. Each connect goes to the one that answered last, or to the next if it failed. */
export interface ZooKeeperEnsemble extends AsyncDisposable {
  /** Prefix of every path, without a slash at its end. */
  chroot: string;
  /**
   * Starts a session of exactly `timeoutMs`, which lives for that time after each connect and each request.
   *
   * @throws RangeError if the servers grant no session of that length.
   */
  start: (timeoutMs: number, signal: AbortSignal) => Promise<ZooKeeperConnection>;
  /** Connects anew for the session of a connection. Its time begins anew, and the former connection ends. One that is shortened counts as expired. */
  resume: (former: ZooKeeperConnection, signal: AbortSignal) => Promise<ZooKeeperConnection | 'expired'>;
  /** The connection for whatever needs no session of its own. Once it ends, so does its session: the next one has another. */
  shared: (signal: AbortSignal) => Promise<ZooKeeperConnection>;
}

const defaultPort = 2181;
/**
 * Pings keep this session alive. Waiters have their places in it, and those behind a process that has crashed wait as long. The server
 * makes it two ticks if they are more.
 */
const sharedTimeoutMs = 3_000;

/**
 * `connectString` is `host:port,host:port/chroot`, as other clients have it. A port may be left out: 2181.
 *
 * @throws RangeError if it is not that.
 */
export function zooKeeperEnsemble(connectString: string, access: ZooKeeperAccess = {}): ZooKeeperEnsemble {
  const { servers, chroot } = parse(connectString);
  const serverOf = new WeakMap<ZooKeeperConnection, number>();
  let present = 0;
  let common: ZooKeeperConnection | undefined;
  let opening: Promise<ZooKeeperConnection> | undefined;

  function leave(server: number | undefined): void {
    if (server === present) present = (server + 1) % servers.length;
  }

  async function connect(
    options: Parameters<typeof connectToZooKeeper>[1],
    signal: AbortSignal,
    former?: ZooKeeperConnection,
  ): Promise<ZooKeeperConnection | 'expired'> {
    if (former?.isOpen() === false) leave(serverOf.get(former));
    const turn = present;
    const server = servers[turn];
    if (server === undefined) throw new RangeError('ZooKeeper needs at least one server');
    try {
      const connection = await connectToZooKeeper({ ...access, ...server }, options, signal);
      if (connection !== 'expired') serverOf.set(connection, turn);
      return connection;
    } catch (error) {
      leave(turn);
      throw error;
    }
  }

  async function begin(...[options, ...rest]: Parameters<typeof connect>): Promise<ZooKeeperConnection> {
    const connection = await connect(options, ...rest);
    if (connection === 'expired') throw new Error('ZooKeeper refused a new session');
    return connection;
  }

  async function openShared(signal: AbortSignal): Promise<ZooKeeperConnection> {
    try {
      common = await begin({ timeoutMs: sharedTimeoutMs, pings: true }, signal, common);
      return common;
    } finally {
      opening = undefined;
    }
  }

  return {
    chroot,

    async start(timeoutMs, signal) {
      const connection = await begin({ timeoutMs }, signal);
      const granted = connection.session.timeoutMs;
      if (granted === timeoutMs) return connection;
      await connection.send(closeSession, signal);
      throw new RangeError(
        `ZooKeeper would end the session after ${granted} ms, not ${timeoutMs} ms. It grants 2 to 20 times its tickTime.`,
      );
    },

    async resume(former, signal) {
      const { session } = former;
      const connection = await connect({ timeoutMs: session.timeoutMs, session }, signal, former);
      former.destroy();
      if (connection === 'expired' || connection.session.timeoutMs >= session.timeoutMs) return connection;
      // Servers that were restarted with a lower limit end it before its holder would know.
      connection.destroy();
      return 'expired';
    },

    async shared(signal) {
      signal.throwIfAborted();
      if (common?.isOpen() === true) return common;
      opening ??= openShared(signal);
      const opened = opening;
      return untilAborted(signal, () => opened);
    },

    async [Symbol.asyncDispose]() {
      await common?.send(closeSession, AbortSignal.timeout(1_000)).catch(() => {});
      common?.destroy();
    },
  };
}

function parse(connectString: string): { servers: ZooKeeperServer[]; chroot: string } {
  const [, hosts = '', chroot = ''] = /^([^/]+)(\/.*)?$/.exec(connectString) ?? [];
  const servers = hosts.split(',').map((host) => {
    const url = URL.parse(`zookeeper://${host.trim()}`);
    if (url === null || url.hostname === '') {
      throw new RangeError(`"${connectString}" is not host:port,host:port/chroot`);
    }
    // An IPv6 address has brackets here.
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) };
  });
  return { servers, chroot: chroot.replace(/\/+$/, '') };
}
