// npm run package [-- NAME] [-- --out DIR]: packs what NAME says, the app that is deployed if it says nothing.
import { runNamed } from './runNamed.ts';

const [name] = process.argv.slice(2);
if (name === undefined || name.startsWith('-')) await import('./package.ts');
else
  await runNamed('npm run package', {
    library: () => import('./packLibrary.ts'),
    'local-azure': () => import('./packLocalAzure.ts'),
    release: () => import('./keepRelease.ts'),
  });
