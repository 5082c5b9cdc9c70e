// npm run bench [-- NAME] [options]: the benchmark that NAME says, throughput if it says nothing.
import { runNamed } from '../scripts/runNamed.ts';

await runNamed(
  'npm run bench',
  {
    pace: () => import('./pace/main.ts'),
    'due-at-once': () => import('./pace/dueAtOnce.ts'),
    receipts: () => import('./followUps.ts'),
    lists: () => import('./lists.ts'),
    'job-queue': () => import('./jobQueue/main.ts'),
    pages: () => import('./pages.ts'),
    search: () => import('./search.ts'),
    report: () => import('./report/main.ts'),
    retention: () => import('./retention.ts'),
    imports: () => import('./imports.ts'),
    bulk: () => import('./bulkRuns.ts'),
    bodies: () => import('./bodies.ts'),
    tracing: () => import('./tracing.ts'),
    locking: () => import('./locking.ts'),
    takeover: () => import('./leaseTakeover.ts'),
    endurance: () => import('./leaseEndurance.ts'),
    'lease-faults': () => import('./leaseFaults.ts'),
    stores: () => import('./stores/main.ts'),
    'store-faults': () => import('./stores/faults.ts'),
    'lock-peers': () => import('./stores/peers.ts'),
  },
  () => import('./throughput.ts'),
);
