import { z } from 'zod';
import { resolved } from './fields.ts';

/** Stores of locks in the app's own Azure resources. They need no address. */
const azureKinds = ['blob', 'cosmos', 'service-bus'] as const;

/** Stores of locks on other servers, by the scheme of their address. */
const serverKinds = {
  redis: 'redis',
  rediss: 'redis',
  postgres: 'postgres',
  postgresql: 'postgres',
  'postgres-advisory': 'postgres-advisory',
  mysql: 'mysql',
  mariadb: 'mysql',
  etcd: 'etcd',
  etcds: 'etcd',
  zookeeper: 'zookeeper',
} as const;

/** Their servers may be several, which keep the same data: `etcd://a:2379,b:2379`. */
const clustered: readonly string[] = ['etcd', 'etcds', 'zookeeper'];

export type AzureLockAddress = { readonly kind: (typeof azureKinds)[number] };
export type ServerLocks = {
  readonly kind: (typeof serverKinds)[keyof typeof serverKinds];
  /** As it was given. It may hold a password: never log it. */
  readonly url: string;
};

/** Where the locks are (`LOCKS`). A quorum acquires a lock on the majority of its members. */
export type LockAddress =
  | AzureLockAddress
  | ServerLocks
  | { readonly kind: 'quorum'; readonly members: readonly ServerLocks[] };

const forms =
  'blob, cosmos, service-bus, an address (redis://, postgres://, postgres-advisory://, mysql://, etcd://, zookeeper://), ' +
  'or three or more such addresses of separate servers, an odd number, with blanks between them';

/** Findings never repeat the address, which may hold a password. */
export const lockAddress = z
  .string()
  .check(resolved)
  .default('blob')
  .transform((text, context): LockAddress => {
    const parts = text.trim().split(/\s+/);
    const [first = ''] = parts;
    const azure = azureKinds.find((kind) => kind === first);
    if (azure !== undefined && parts.length === 1) return Object.freeze({ kind: azure });
    const members = parts.flatMap((part) => serverLocks(part) ?? []);
    const [single] = members;
    if (members.length === parts.length && single !== undefined) {
      if (members.length === 1) return single;
      const separate = new Set(members.map(({ url }) => url)).size === members.length;
      if (separate && members.length % 2 === 1) return Object.freeze({ kind: 'quorum', members });
    }
    context.addIssue(`expected ${forms}`);
    return z.NEVER;
  });

function serverLocks(address: string): ServerLocks | undefined {
  const [, scheme = '', rest = ''] = /^([a-z-]+):\/\/(.+)$/.exec(address) ?? [];
  const [, kind] = Object.entries(serverKinds).find(([known]) => known === scheme) ?? [];
  if (kind === undefined) return undefined;
  const hosts = clustered.includes(scheme) ? rest.split(',') : [rest];
  const isHost = (host: string) => /^[^,]+$/.test(URL.parse(`http://${host}`)?.hostname ?? '');
  return hosts.every(isHost) ? Object.freeze({ kind, url: address }) : undefined;
}
