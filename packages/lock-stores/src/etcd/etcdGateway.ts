import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { ConnectionOptions } from 'node:tls';
import { errorText } from '@payonce/leases/error-text';
import { fieldsOf, type Shape } from '../answers.ts';
import {
  authAnswer,
  type EtcdAnswer,
  type EtcdTxn,
  grantAnswer,
  keepAliveAnswer,
  refusalAnswer,
  txnAnswer,
  watchAnswer,
} from './etcdMessages.ts';

/** One member of the cluster. Its methods reject if it refuses (`EtcdRefused`) or does not answer. */
export interface EtcdMember {
  /** Linearizable, even if it only reads. */
  txn: (txn: EtcdTxn) => Promise<EtcdAnswer>;
  /** Makes a lease of `seconds`, or of more if the cluster's election timeout demands it. */
  grant: (id: string, seconds: number) => Promise<'granted' | 'exists'>;
  /**
   * Restarts the time of a lease. A leader that was cut off answers this until it learns of its successor, although the
   * lease may have ended there. Trust it only if a `txn` on the same member comes back afterwards with the same term:
   * then that leader had a majority all the time.
   */
  keepAlive: (id: string) => Promise<{ kept: boolean; term: string }>;
  /** Ends a lease, and deletes its keys. */
  revoke: (id: string) => Promise<'revoked' | 'gone'>;
  /** Resolves when the key has been deleted, at this revision or later. Rejects if the signal aborts or the connection is lost. */
  deleted: (key: string, revision: string) => Promise<void>;
}

export interface EtcdGateway extends Disposable {
  /**
   * Does the work of one call on one member. If it fails, the next call goes to the next member. A failed request may have
   * been applied, and is not sent again.
   */
  onOneMember: <T>(signal: AbortSignal, work: (member: EtcdMember) => Promise<T>) => Promise<T>;
}

/** Options of `tls.connect`: the authorities to trust, and the certificate to show. */
export type EtcdTls = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

/** etcd answered with an error. */
export class EtcdRefused extends Error {
  override readonly name = 'EtcdRefused';
  /** One of gRPC's: https://grpc.io/docs/guides/status-codes/. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const invalidArgument = 3;
const notFound = 5;
const permissionDenied = 7;
const failedPrecondition = 9;
const unauthenticated = 16;

/**
 * etcd's JSON gateway (https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/) on the members of one cluster. Endpoints are
 * `http://host:2379` or `https://`, with `user:password@` in front of the host if the cluster asks for it.
 *
 * @throws TypeError if an endpoint is not a URL.
 */
export function etcdGateway(endpoints: readonly string[], tls: EtcdTls = {}): EtcdGateway {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    'https:': new HttpsAgent({ keepAlive: true, ...tls }),
  };
  const members = endpoints.map((endpoint) => memberAt(new URL(endpoint), agents));
  let present = 0;

  return {
    async onOneMember(signal, work) {
      const turn = present;
      const open = members[turn];
      if (open === undefined) throw new RangeError('etcd needs at least one endpoint');
      try {
        return await work(open(signal));
      } catch (error) {
        if (present === turn) present = (turn + 1) % members.length;
        throw error;
      }
    },
    [Symbol.dispose]() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Connections by the protocol of an endpoint. */
interface Agents {
  'http:': HttpAgent;
  'https:': HttpsAgent;
}

function memberAt(url: URL, agents: Agents): (signal: AbortSignal) => EtcdMember {
  const [name, password] = [url.username, url.password].map(decodeURIComponent);
  let token: string | undefined;

  function optionsOf(as: string | undefined, signal: AbortSignal): RequestOptions {
    const headers = as === undefined ? {} : { authorization: as };
    const agent = url.protocol === 'https:' ? agents['https:'] : agents['http:'];
    return { method: 'POST', headers, agent, signal };
  }

  async function send(path: string, body: unknown, signal: AbortSignal, as?: string): Promise<unknown> {
    const at = new URL(`/v3/${path}`, url.origin);
    const [ok, answer] = await exchange(at, optionsOf(as, signal), JSON.stringify(body));
    if (ok) return answer;
    const { code, message } = refusalAnswer(answer);
    throw new EtcdRefused(code, `${url.host}: ${message}`);
  }

  return (signal) => {
    async function ask<T>(path: string, body: unknown, answer: Shape<T>): Promise<T> {
      const known = token;
      try {
        return answer(await send(path, body, signal, known ?? (await signIn())));
      } catch (error) {
        // A token ends after five minutes without use, or (JWT) with any change of users. A request that is refused for that reason
        // was not applied.
        if (known === undefined || !(isRefused(error, unauthenticated) || isOutdated(error))) throw error;
        return answer(await send(path, body, signal, await signIn()));
      }
    }

    /** The token for further requests; undefined if none is needed. */
    async function signIn(): Promise<string | undefined> {
      if (name === '') return undefined;
      token = authAnswer(await send('auth/authenticate', { name, password }, signal)).token;
      return token;
    }

    return {
      txn: (txn) => ask('kv/txn', txn, txnAnswer),

      grant: (id, seconds) =>
        unless(failedPrecondition, 'exists', async () => {
          const granted = await ask('lease/grant', { ID: id, TTL: String(seconds) }, grantAnswer);
          if (granted < seconds)
            throw new RangeError(`etcd granted a lease of ${granted} s, not ${seconds} s`);
          return 'granted';
        }),

      keepAlive: (id) => ask('lease/keepalive', { ID: id }, keepAliveAnswer),

      revoke: (id) =>
        unless(notFound, 'gone', async () => {
          await ask('lease/revoke', { ID: id }, fieldsOf({}));
          return 'revoked';
        }),

      async deleted(key, revision) {
        const options = optionsOf(token ?? (await signIn()), signal);
        const body = JSON.stringify({
          create_request: { key, start_revision: revision, filters: ['NOPUT'] },
        });
        await new Promise<void>((resolve, reject) => {
          begin(new URL('/v3/watch', url.origin), options, body, reject, (response) => {
            let rest = '';
            response.on('error', reject).on('close', () => reject(new Error(`${url.host} ended a watch`)));
            response.setEncoding('utf8').on('data', (piece: string) => {
              const lines = (rest + piece).split('\n');
              rest = lines.pop() ?? '';
              try {
                if (!lines.some((line) => watchAnswer(JSON.parse(line)) > 0)) return;
                resolve();
              } catch (error) {
                reject(error);
              }
              response.destroy();
            });
          });
        });
      },
    };
  };
}

function begin(
  url: URL,
  options: RequestOptions,
  body: string,
  failed: (error: Error) => void,
  receive: (response: IncomingMessage) => void,
): void {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  request(url, options, receive).on('error', failed).end(body);
}

async function exchange(
  url: URL,
  options: RequestOptions,
  body: string,
): Promise<[ok: boolean, answer: unknown]> {
  try {
    return await new Promise((resolve, reject) => {
      begin(url, options, body, reject, (response) => {
        const ok = response.statusCode === 200;
        text(response)
          .then((answer) => resolve([ok, JSON.parse(answer)]))
          .catch(reject);
      });
    });
  } catch (error) {
    throw new Error(`no answer from ${url.href}: ${errorText(error)}`, { cause: error });
  }
}

/** True if etcd refuses the name, the password or the access to the keys. */
export function etcdDenies(error: unknown): boolean {
  if (isOutdated(error)) return false;
  return isRefused(error, invalidArgument) || isRefused(error, permissionDenied);
}

/** True if the token is older than the last change of users or roles: etcd has two codes for that. */
function isOutdated(error: unknown): boolean {
  return error instanceof EtcdRefused && /revision of auth store|auth.*revision/.test(error.message);
}

/** The answer, or `other` if etcd refused with this code. */
async function unless<T extends string, Other extends string>(
  code: number,
  other: Other,
  ask: () => Promise<T>,
): Promise<T | Other> {
  try {
    return await ask();
  } catch (error) {
    if (isRefused(error, code)) return other;
    throw error;
  }
}

function isRefused(error: unknown, code: number): boolean {
  return error instanceof EtcdRefused && error.code === code;
}
