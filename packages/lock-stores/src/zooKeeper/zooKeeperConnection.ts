/**
 * A connection to one ZooKeeper server, for one session. We wrote our own client of the wire protocol because there is no
 * kept one: `zookeeper` has no build for Linux, and `node-zookeeper-client` has had no release since 2022. It has what locks
 * need, and no SASL.
 */
import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { untilAborted } from '../untilAborted.ts';
import { bool, bytes, int, type JuteReader, juteReader, long, splitMessages, text } from './jute.ts';
import type { ZooKeeperRequest } from './zooKeeperRequests.ts';

export interface ZooKeeperServer {
  host: string;
  port: number;
}

/** The part of a connection that is the same for every server of an ensemble. */
export interface ZooKeeperAccess {
  /**
   * For servers that take TLS (`secureClientPort`): options of `tls.connect`, such as `ca`, and `cert` and `key` where they ask for a
   * certificate. Default: no TLS.
   */
  tls?: ConnectionOptions;
  /** `user:password` of digest authentication. New nodes are then for this user alone. Default: everybody may do everything. */
  digest?: string;
}

/** A session outlives its connections: a client with its id and password can resume it until it ends. */
export interface ZooKeeperSession {
  id: bigint;
  password: Buffer;
  /** Time that the session lives on without a request of its client (ms), as the server granted it. */
  timeoutMs: number;
}

export interface ZooKeeperConnection {
  session: ZooKeeperSession;
  /** True if it takes requests. Once it does not, it never does again. */
  isOpen: () => boolean;
  /**
   * Sends a request at once; the server answers in order. Once a request was aborted, the connection takes no more.
   *
   * @throws ZooKeeperRefused; an Error if the connection ends first; the reason of the signal.
   */
  send: <T>(request: ZooKeeperRequest<T>, signal: AbortSignal) => Promise<T>;
  /** Calls `tell`, once, when the server tells of a node that was watched (`watchNode`). Returns what stops that. */
  onChange: (path: string, tell: () => void) => () => void;
  /** Ends the connection. The session lives on. */
  destroy: () => void;
}

/** ZooKeeper answered with an error: one of `KeeperException.Code`. */
export class ZooKeeperRefused extends Error {
  override readonly name = 'ZooKeeperRefused';
  readonly code: number;

  constructor(code: number) {
    super(`ZooKeeper answered with error ${code}`);
    this.code = code;
  }
}

interface Waiting {
  resolve: (answer: JuteReader) => void;
  reject: (why: Error) => void;
}

/** The number of the first message, which has none in it. Requests begin at 1. */
const greeting = 0;
/** The number of messages about watched nodes. */
const news = -1;
const ping = [int(-2), int(11)];
/** Digest authentication, of the connection and not of the session. Not waited for: the server refuses what is not allowed. */
const authenticate = (digest: string) => [int(-4), int(100), int(0), text('digest'), text(digest)];

/**
 * Connects, and starts a session of `timeoutMs`, or goes on with `session`, whose time begins anew. `expired`: that session
 * has ended. With `pings` the session lives for as long as the connection does.
 */
export async function connectToZooKeeper(
  { host, port, tls, digest }: ZooKeeperServer & ZooKeeperAccess,
  { timeoutMs, session, pings = false }: { timeoutMs: number; session?: ZooKeeperSession; pings?: boolean },
  signal: AbortSignal,
): Promise<ZooKeeperConnection | 'expired'> {
  signal.throwIfAborted();
  const server = `ZooKeeper at ${host}:${port}`;
  const socket =
    tls === undefined
      ? connect({ host, port, noDelay: true })
      : connectTls({ host, port, ...tls }).setNoDelay();
  const waiting = new Map<number, Waiting>();
  const watching = new Map<string, Set<() => void>>();
  let open = true;
  let lastNumber = greeting;

  function close(why: Error): void {
    open = false;
    socket.destroy();
    for (const { reject } of waiting.values()) reject(why);
  }

  function whyAtOnce(): string {
    if (!waiting.has(greeting)) return '';
    return '. It serves nobody now, or has as many connections from here as its maxClientCnxns allows.';
  }

  async function ask(number: number, message: readonly Buffer[], signal: AbortSignal): Promise<JuteReader> {
    signal.throwIfAborted();
    if (!open) throw new Error(`the connection to ${server} has ended`);
    const { promise, resolve, reject } = Promise.withResolvers<JuteReader>();
    waiting.set(number, { resolve, reject });
    socket.ref().write(framed(message));
    try {
      return await untilAborted(signal, () => promise);
    } catch (error) {
      open = false;
      throw error;
    } finally {
      waiting.delete(number);
      const idle = waiting.size === 0;
      // A request that its caller abandoned must not be sent later. An idle connection does not keep the process alive.
      if (!open && (idle || socket.writableLength > 0)) socket.destroy();
      else if (idle) socket.unref();
    }
  }

  socket.on('error', (error) => {
    const hungUp = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    close(new Error(`lost ${server}: ${error.message}${hungUp ? whyAtOnce() : ''}`, { cause: error }));
  });
  socket.on('close', () => close(new Error(`${server} closed the connection${whyAtOnce()}`)));
  splitMessages(socket, (message) => {
    const reader = juteReader(message);
    const number = waiting.has(greeting) ? greeting : reader.int();
    if (number === news) tellOf(reader);
    else waiting.get(number)?.resolve(reader);
  });

  function tellOf(reader: JuteReader): void {
    reader.long();
    // An error, which it never has, the kind of the change, and the state of the session.
    for (let field = 0; field < 3; field++) reader.int();
    const path = reader.text();
    const tells = watching.get(path);
    watching.delete(path);
    for (const tell of tells ?? []) tell();
  }

  const asked = [
    long(0n),
    int(timeoutMs),
    long(session?.id ?? 0n),
    bytes(session?.password ?? Buffer.alloc(16)),
  ];
  const answer = await ask(greeting, [int(0), ...asked, bool(false)], signal);
  answer.int();
  const given = { timeoutMs: answer.int(), id: answer.long(), password: Buffer.from(answer.bytes()) };
  // ClickHouse Keeper begins another session in the place of the one that was asked for.
  if (given.timeoutMs <= 0 || given.id !== (session?.id ?? given.id)) {
    close(new Error(`${server} has ended the session`));
    return 'expired';
  }
  if (digest !== undefined) socket.write(framed(authenticate(digest)));
  if (pings) {
    const pinging = setInterval(() => socket.write(framed(ping)), given.timeoutMs / 3).unref();
    socket.on('close', () => clearInterval(pinging));
  }

  return {
    session: given,
    isOpen: () => open,

    async send({ type, body, answer: read, codes = [] }, signal) {
      const number = ++lastNumber;
      const answer = await ask(number, [int(number), int(type), body], signal);
      answer.long();
      const code = answer.int();
      if (code === 0) return read(answer);
      const known = codes.find(([expected]) => expected === code);
      if (known === undefined) throw new ZooKeeperRefused(code);
      return known[1];
    },

    onChange(path, tell) {
      const tells = watching.get(path) ?? new Set();
      watching.set(path, tells.add(tell));
      return () => void tells.delete(tell);
    },

    destroy: () => close(new Error(`the connection to ${server} was ended`)),
  };
}

function framed(message: readonly Buffer[]): Buffer {
  return bytes(Buffer.concat(message));
}
