/** `npm run check -- storm`: random operations on two hosts, then every invoice against the provider's ledger. `-- --seed N`. */
import { parseArgs } from 'node:util';
import { storm } from './storm.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${Math.floor(Math.random() * 1e6)}` },
    operations: { type: 'string', default: '2000' },
    invoices: { type: 'string', default: '300' },
    /** Minutes until everything must agree. */
    minutes: { type: 'string', default: '15' },
  },
});
const { problems, ...report } = await storm({
  seed: Number(values.seed),
  operations: Number(values.operations),
  invoices: Number(values.invoices),
  atOnce: 6,
  print: (line) => console.log(line),
  withinMs: Number(values.minutes) * 60_000,
});
console.log(`seed ${values.seed}`);
for (const [what, counts] of Object.entries(report)) console.log(what, JSON.stringify(counts, undefined, 1));
for (const problem of problems.slice(0, 30)) console.error(problem);
console.log(problems.length === 0 ? 'every invoice agrees with the ledger' : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
