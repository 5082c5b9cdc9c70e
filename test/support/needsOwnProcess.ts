/**
 * The test files that run in a process of their own. All others share a few processes, one file after another, so that modules
 * are loaded once. `test/architecture` checks that those replace nothing of the process.
 */
export const needsOwnProcess: string[] = [
  // They start hosts, servers and browsers, and end with them.
  'test/{browser,bulk,chaos,crash,e2e,fuzz,library,releases,scripts,shutdown}/**/*.test.ts',
  'test/locking/stores/**/*.test.ts',
  'test/simulation/**/*.test.ts',
  'test/local/functionsHost/**/*.test.ts',
  'test/{package,idleApp}.test.ts',
  // They replace something of the process: its clock, its environment, its tracer.
  'test/ops/health.test.ts',
  'test/paying/traced.test.ts',
  'test/platform/{exportTelemetry,tracing}.test.ts',
  // They measure their process.
  'test/{platform/eventLoopTurns,outbox/sender}.test.ts',
];
