/**
 * The demo's own check: `npm run check -- demo`. With any one guard off nobody may be charged twice, whatever happens (*all of it*);
 * with all three off somebody must be, though nothing else is wrong. Each run begins with a new world and five seconds of calm, so that
 * switching is part of it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDemo } from '../../local/demo/demo.ts';
import { moneyGuards } from '../../local/demo/switchFile.ts';

const { values } = parseArgs({
  options: {
    off: { type: 'string', default: '' },
    minutes: { type: 'string', default: '3' },
    runs: { type: 'string', default: '3' },
  },
});
const off = moneyGuards.filter((guard) => values.off.split(',').includes(guard));
const [minutes, runs] = [Number(values.minutes), Number(values.runs)];
if (off.length === 0 || off.join() !== values.off || !(minutes >= 1) || !(runs >= 1)) {
  console.log(
    `npm run check -- demo --off ${moneyGuards.join(',')} [--minutes 3] [--runs 3]\n  --off: one or several, in this order`,
  );
  process.exit(2);
}

const hasGuards = off.length < moneyGuards.length;
const demo = await startDemo('.local/demo-check');
let failed = 0;
for (let run = 1; run <= runs; run++) {
  if (run > 1) await demo.act({ do: 'reset' });
  await delay(5_000);
  await demo.act({ do: 'guards', ids: off, on: false });
  const began = performance.now();
  const seeds = Array.from({ length: hasGuards ? minutes : 0 }, () => Math.floor(Math.random() * 1_000_000));
  let firstMs: number | undefined;
  for (const seed of seeds) {
    await demo.act({ do: 'all', seed });
    while (demo.state().allOfIt !== undefined) await delay(250);
  }
  while (!hasGuards && performance.now() - began < minutes * 60_000) {
    await delay(250);
    if (demo.state().figures.twice > 0) firstMs ??= performance.now() - began;
  }
  // The last deployment may end after its minute.
  const latest = performance.now() + 300_000;
  while (demo.state().deployment.on && performance.now() < latest) await delay(250);
  // Calls in flight end.
  await delay(10_000);
  const { figures: counted, hosts, deployment } = demo.state();
  const { due, paid, charged, twice } = counted;
  const first = firstMs === undefined ? '' : `, the first after ${Math.round(firstMs / 1000)} s`;
  const figures = `due ${due}, paid ${paid}, charged ${charged}, charged twice ${twice}${first}`;
  const versions = new Set(hosts.map(({ version }) => version));
  const mishaps = hasGuards ? `all of it with seeds ${seeds.join(', ')}` : 'nothing else wrong';
  console.log(
    `without ${off.join(', ')}, ${mishaps}: ${figures}; at the end version ${[...versions].join(', ')}`,
  );
  const isRight = hasGuards ? twice === 0 : firstMs !== undefined && firstMs < 60_000;
  if (!isRight || deployment.on) failed++;
}
await demo[Symbol.asyncDispose]();
console.log(failed === 0 ? 'As it has to be.' : `${failed} of ${runs} runs are not as they have to be.`);
process.exit(failed === 0 ? 0 : 1);
