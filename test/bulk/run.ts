/** `npm run check -- bulk`: bulk operations on thousands while hosts are killed. `-- --seed N` kills in the same order. */
import { parseArgs } from 'node:util';
import { bulkCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${Math.floor(Math.random() * 1e9)}` },
    invoices: { type: 'string', default: '5000' },
    messages: { type: 'string', default: '5000' },
    'dead-letters': { type: 'string', default: '500' },
    kills: { type: 'string', default: '12' },
  },
});
const { problems, ...report } = await bulkCampaign({
  seed: Number(values.seed),
  invoices: Number(values.invoices),
  messages: Number(values.messages),
  deadLetters: Number(values['dead-letters']),
  kills: Number(values.kills),
  killEveryMs: 5_000,
  withinMs: 20 * 60_000,
});
console.log(`seed ${values.seed}`, JSON.stringify(report));
for (const problem of problems.slice(0, 20)) console.error(problem);
console.log(
  problems.length === 0
    ? 'each was done once, and the audit says who and why'
    : `${problems.length} problems`,
);
process.exit(problems.length === 0 ? 0 : 1);
