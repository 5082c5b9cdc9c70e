/** `npm run check -- fleet`: hosts are injured while they work; then everything must come to rest and add up. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../support/endWithProcess.ts';
import { type FleetReport, fleetCampaign } from './campaign.ts';
import { bulk, chaos, shutdown } from './campaigns.ts';

const usage = `npm run check -- fleet [chaos] [shutdown] [bulk] [options]    (default: all three, one after another)
  chaos: hosts are killed, paused and stopped while every service fails
  shutdown: hosts are stopped as Azure stops them
  bulk: bulk runs retry and redrive thousands of things while hosts are killed
  --seed S          whole number; the same seed gives the same mishaps at the same times (default: from the clock)
  --hosts N         default 5 in chaos, else 3
  --minutes M       how long mishaps go on: default 1 in chaos, 4 in shutdown
  --drain S         seconds that everything may then take to come to rest (default: chaos 120, shutdown 155, bulk 1200)
  --invoices N      imported evenly over that time: default 500 a minute in chaos, 5000 in shutdown; in bulk, stored before: 5000
  --stops N         shutdown: hosts that get SIGTERM (default 20)
  --kills N         hosts that get SIGKILL: in shutdown instead of SIGTERM (default 0), in bulk (default 12)
  --messages N, --dead-letters N    bulk: what an outage has left (default 5000 and 500)
  --locks KIND      chaos: redis, postgres or etcd: the locks are there, on a server that loses its data (default: blobs)`;

const number = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: number,
    hosts: number,
    minutes: number,
    drain: number,
    invoices: number,
    stops: number,
    kills: number,
    messages: number,
    'dead-letters': number,
    locks: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const { locks, help, ...numbers } = values;
const wrong = Object.entries(numbers).filter(
  ([name, text]) => !(Number(text) >= 0) || (name !== 'minutes' && !Number.isInteger(Number(text))),
);
/** The option; undefined if it is not given. */
function given(name: keyof typeof numbers): number | undefined {
  return numbers[name] === undefined ? undefined : Number(numbers[name]);
}
const seed = given('seed') ?? Date.now() % 1_000_000;
const drain = given('drain');
const common = (hosts: number) => ({
  seed,
  hosts: given('hosts') ?? hosts,
  ...(drain === undefined ? {} : { drainMs: drain * 1_000 }),
});
const campaigns = {
  chaos() {
    const invoices = given('invoices');
    return chaos({
      ...common(5),
      minutes: given('minutes') ?? 1,
      ...(invoices === undefined ? {} : { invoices }),
      ...(locks === undefined || locks === 'blob' ? {} : { locks }),
    });
  },
  shutdown: () =>
    shutdown({
      ...common(3),
      minutes: given('minutes') ?? 4,
      invoices: given('invoices') ?? 5_000,
      stops: given('stops') ?? 20,
      kills: given('kills') ?? 0,
    }),
  bulk: () =>
    bulk({
      ...common(3),
      kills: given('kills') ?? 12,
      size: {
        invoices: given('invoices') ?? 5_000,
        messages: given('messages') ?? 5_000,
        deadLetters: given('dead-letters') ?? 500,
      },
    }),
};
type CampaignName = keyof typeof campaigns;
const isName = (name: string): name is CampaignName => Object.hasOwn(campaigns, name);
const unknown = positionals.filter((name) => !isName(name));
if (help || wrong.length > 0 || unknown.length > 0) {
  for (const [name, text] of wrong) console.error(`--${name}: expected a number, got ${text}`);
  for (const name of unknown) console.error(`${name}: expected ${Object.keys(campaigns).join(', ')}`);
  console.log(usage);
  process.exit(help ? 0 : 2);
}

exitOnSignals();
const chosen = positionals.length === 0 ? Object.keys(campaigns) : positionals;
for (const name of chosen.filter(isName)) {
  const campaign = campaigns[name]();
  console.log(
    `${name}: seed ${seed}, ${campaign.mishaps.length} mishaps in ${campaign.durationMs / 60_000} min, ${campaign.hosts} hosts`,
  );
  const report = await fleetCampaign(campaign, (line) => console.log(line));
  console.log(report.figures.join('\n'));
  if (report.problems.length === 0) {
    console.log('Everything adds up.');
    continue;
  }
  process.exitCode = 1;
  const folder = `.local/${name}`;
  keepLogs(folder, report);
  console.log(`It does not add up (logs and timelines: ${folder}, seed ${seed}):`);
  for (const problem of report.problems.slice(0, 50)) console.log(`  ${problem}`);
}

function keepLogs(folder: string, { logs, evidence }: FleetReport): void {
  mkdirSync(folder, { recursive: true });
  for (const [instance, lines] of logs) writeFileSync(`${folder}/${instance}.log`, lines.join('\n'));
  writeFileSync(`${folder}/invoices.json`, JSON.stringify(evidence.invoices, null, 1));
}
