// npm run check -- NAME [options]: the campaigns, which take longer than tests, and what measures or draws the project.
import { runNamed } from './runNamed.ts';

await runNamed('npm run check', {
  crash: () => import('../test/crash/sweep.ts'),
  fleet: () => import('../test/fleet/run.ts'),
  demo: () => import('../test/demo/run.ts'),
  simulate: () => import('../test/simulation/main.ts'),
  'simulated-guards': () => import('../test/simulation/guardCampaign.ts'),
  outages: () => import('../test/simulation/outages/main.ts'),
  scale: () => import('../test/simulation/scale/main.ts'),
  storm: () => import('../test/storm/run.ts'),
  events: () => import('../test/after/runStorm.ts'),
  hostile: () => import('../test/hostile/run.ts'),
  fuzz: () => import('../test/fuzz/run.ts'),
  guards: () => import('../test/guards/run.ts'),
  mutants: () => import('../test/guards/mutate.ts'),
  'lock-guards': () => import('../packages/leases/test/sabotages.ts'),
  'lock-campaign': ['--config', 'vitest.campaign.config.ts'],
  long: ['--config', 'vitest.long.config.ts'],
  measure: () => import('../test/architecture/measure.ts'),
  costs: () => import('./costs.ts'),
  calls: () => import('./callTables.ts').then(({ writeCallTables }) => writeCallTables()),
  screenshots: () => import('./screenshots.ts'),
  walk: () => import('../test/browser/walk.ts'),
});
