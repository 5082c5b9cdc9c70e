/** `npm run check -- events`: the storm of events at full size. `-- --seed N` begins like that one, `-- --storms N` runs several. */
import { parseArgs } from 'node:util';
import { eventStorm } from './storm.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${Math.floor(Math.random() * 1e9)}` },
    storms: { type: 'string', default: '1' },
    invoices: { type: 'string', default: '600' },
    deliveries: { type: 'string', default: '10000' },
  },
});
let failed = 0;
for (let storm = 0; storm < Number(values.storms); storm++) {
  const seed = Number(values.seed) + storm;
  const { problems, ...report } = await eventStorm({
    seed,
    invoices: Number(values.invoices),
    deliveries: Number(values.deliveries),
  });
  console.log(`seed ${seed}`, report);
  for (const problem of problems.slice(0, 20)) console.error(problem);
  if (problems.length > 0) failed++;
}
console.log(failed === 0 ? 'every invoice matches the ledger' : `${failed} storms left something wrong`);
process.exit(failed === 0 ? 0 : 1);
