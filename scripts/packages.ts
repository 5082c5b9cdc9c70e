// npm run package [-- NAME] [-- --out DIR]: packs what NAME says, the app that is deployed if it says nothing.
import { runNamed } from './runNamed.ts';

await runNamed(
  'npm run package',
  {
    library: () => import('./packLibrary.ts'),
    'local-azure': () => import('./packLocalAzure.ts'),
    release: () => import('./keepRelease.ts'),
  },
  () => import('./package.ts'),
);
