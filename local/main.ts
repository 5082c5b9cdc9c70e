// npm run cloud [-- NAME] [options]: starts the local cloud, or of it what NAME says.
import { runNamed } from '../scripts/runNamed.ts';

await runNamed(
  'npm run cloud',
  {
    payments: () => import('./stripe/main.ts'),
    traces: () => import('./traces.ts'),
    emulators: () => import('../scripts/prepareEmulators.ts'),
  },
  () => import('./cloud.ts'),
);
