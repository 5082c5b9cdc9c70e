/**
 * The test files that `npm run test:full` runs and `npm test` leaves out. They take seconds of processor time each, or minutes of
 * waiting: for hosts, browsers, packages and real lock servers. What stays has at least one of each kind but the servers.
 */
export const onlyInFull: string[] = [
  'test/{fuzz,library,releases}/**/*.test.ts',
  'test/fleet/campaign.test.ts',
  'test/browser/{actions,demo,finding,imports,pages,records,typing}.test.ts',
  'test/e2e/{events,locks,money,ops,stalledRun,start,tracing}.test.ts',
  'test/{package,scripts/keepRelease,scripts/afterRestore}.test.ts',
  'test/scripts/{runNamed,deployment/checkKey,deployment/target,deployment/verifyDeployment}.test.ts',
  'test/infra/{azdUp,compile,deployBlocks,workflowSteps}.test.ts',
  'test/{ops/callers,invoice/counters/scans}.test.ts',
  'packages/local-azure/test/functionsHost/{blob,cosmos,lifecycle,outputs,serviceBus,start,streams,triggers}.test.ts',
  'packages/local-azure/test/functionsHost/durable/{keys,orchestrations}.test.ts',
  'packages/local-azure/test/{azurite,localPage,package,smallApps,tls}.test.ts',
  'test/local/{numberArguments,stripe/trafficArguments}.test.ts',
  'packages/leases/test/blob/contract.test.ts',
  'packages/lock-stores/test/{etcd,mysql,postgres,postgresAdvisory,quorum,redis,zooKeeper}/{contract,hazards}.test.ts',
  'packages/lock-stores/test/{cosmos/hazards,serviceBus/contract,serviceBus/hazards}.test.ts',
  'packages/lock-stores/test/quorum/election.test.ts',
  'packages/lock-stores/test/{ownClients,permanentErrors,etcd/endpoints,etcd/tls,postgres/lockInTransaction,redis/cluster,zooKeeper/access,zooKeeper/line,zooKeeper/lostAnswers,zooKeeper/servers}.test.ts',
  'test/simulation/{outages,scale}/*.test.ts',
];

/** True in `npm run test:full`: campaigns that `npm test` cuts short run as long as they are. */
export const isFull = process.env.TESTS === 'full';
