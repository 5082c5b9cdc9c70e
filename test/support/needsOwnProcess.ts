/**
 * The test files that run in a process of their own. All others share a few processes, one file after another, so that modules
 * are loaded once. `test/architecture` checks that those replace nothing of the process.
 */
export const needsOwnProcess: string[] = [
  // They start hosts, servers and browsers, and end with them.
  'test/{browser,e2e,fuzz,library,releases}/**/*.test.ts',
  'test/{crash/crash,fleet/campaign}.test.ts',
  'test/scripts/{afterRestore,keepRelease,runNamed}.test.ts',
  'test/scripts/deployment/{checkKey,target,verifyDeployment}.test.ts',
  'packages/leases/test/{memory,blob/contract}.test.ts',
  'packages/lock-stores/test/*.test.ts',
  'packages/lock-stores/test/{cosmos,etcd,mysql,postgres,postgresAdvisory,serviceBus,zooKeeper}/*.test.ts',
  'packages/lock-stores/test/quorum/{contract,election,hazards}.test.ts',
  'packages/lock-stores/test/redis/{cluster,contract,hazards}.test.ts',
  'test/simulation/**/*.test.ts',
  'packages/local-azure/test/{localPage,smallApps}.test.ts',
  'packages/local-azure/test/functionsHost/{blob,cosmos,http,lifecycle,outputs,serviceBus,start,streams,triggers}.test.ts',
  'packages/local-azure/test/functionsHost/durable/{keys,orchestrations}.test.ts',
  'test/{package,idleApp}.test.ts',
  // They replace something of the process: its clock, its environment, its tracer, its certificates.
  'packages/local-azure/test/serviceBus/administration.test.ts',
  'test/ops/health.test.ts',
  'test/paying/traced.test.ts',
  'test/platform/exportTelemetry.test.ts',
  'packages/jobs/test/tracing.test.ts',
  // They measure their process.
  'test/platform/eventLoopTurns.test.ts',
  'packages/jobs/test/outbox/sender.test.ts',
];
