/**
 * The Cosmos containers as the app expects them. The local cloud creates them from here; infra/ declares the same, and a
 * test compares the two.
 */
export interface ContainerDefinition {
  readonly name: string;
  /** Path of the partition key (version 2, one path). */
  readonly partitionKey: string;
  /** Seconds after the last write that an item is kept. -1: it expires only if it has its own `ttl`. Absent: TTL is off. */
  readonly defaultTtl?: number;
  /**
   * Paths that queries use. The rest stays out of the index, because each indexed path costs RU at every write. The
   * partition key is one of them: it is not indexed unless the policy says so (https://learn.microsoft.com/azure/cosmos-db/index-policy).
   */
  readonly indexed: readonly string[];
}

export const databaseName = 'payonce';

const days = 86_400;

export const containers = {
  invoices: {
    name: 'invoices',
    partitionKey: '/shard',
    defaultTtl: -1,
    indexed: [
      '/shard/?',
      '/type/?',
      '/status/?',
      '/actionableAt/?',
      '/nextAttemptAt/?',
      '/createdAt/?',
      '/customerId/?',
      '/currency/?',
      '/payment/id/?',
      '/payment/paidAt/?',
      '/payment/keyCreatedAt/?',
      '/payment/unknownSince/?',
      '/payment/inProgress/since/?',
      '/checkAt/?',
      '/dueAt/?',
      '/terms/[]/?',
      '/timeline/[]/runId/?',
      '/amountMinor/?',
      '/reversals/refundedMinor/?',
      '/reversals/disputedMinor/?',
    ],
  },
  workItems: {
    name: 'workItems',
    partitionKey: '/resourceId',
    defaultTtl: -1,
    indexed: ['/resourceId/?', '/status/?'],
  },
  runs: {
    name: 'runs',
    partitionKey: '/job',
    defaultTtl: 400 * days,
    indexed: ['/job/?', '/startedAt/?', '/status/?'],
  },
  pace: { name: 'pace', partitionKey: '/limit', indexed: ['/limit/?'] },
  audit: {
    name: 'audit',
    partitionKey: '/day',
    defaultTtl: 3_650 * days,
    indexed: ['/day/?', '/at/?', '/target/?'],
  },
  locks: { name: 'locks', partitionKey: '/lock', defaultTtl: -1, indexed: ['/lock/?', '/key/?'] },
} as const satisfies Record<string, ContainerDefinition>;

/** The indexing policy in the form that Cosmos takes it (https://learn.microsoft.com/azure/cosmos-db/index-policy). */
export function indexingPolicy({ indexed }: ContainerDefinition) {
  return {
    indexingMode: 'consistent' as const,
    automatic: true,
    includedPaths: indexed.map((path) => ({ path })),
    excludedPaths: [{ path: '/*' }],
  };
}
