// npm run cloud [-- NAME] [options]: starts the local cloud, or of it what NAME says.
import { runNamed } from '../scripts/runNamed.ts';

const [name] = process.argv.slice(2);
if (name === undefined || name.startsWith('-')) await import('./cloud.ts');
else
  await runNamed('npm run cloud', {
    payments: () => import('./stripe/main.ts'),
    traces: () => import('./traces.ts'),
    emulators: () => import('../scripts/prepareEmulators.ts'),
  });
