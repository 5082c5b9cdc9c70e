// npm run check -- costs [--write]
//
// Prints what the app costs in a month, with the counts and prices behind it. Change a count in scripts/costs/usage.ts or a
// price in scripts/costs/prices.ts; --write then puts the tables into docs/cost.md, and a test compares the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { alertsIn } from './costs/alertsIn.ts';
import { costPage } from './costs/table.ts';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const bicep = readFileSync(new URL('../infra/modules/alerts.bicep', import.meta.url), 'utf8');
const tables = costPage(alertsIn(bicep));
if (values.write) {
  const page = new URL('../docs/cost.md', import.meta.url);
  const between = /(<!-- npm run check -- costs[^>]*-->\n\n)[\s\S]*?(\n\n<!-- end of costs -->)/;
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(between, (_, begin: string, end: string) => begin + tables + end),
  );
} else {
  console.log(tables);
}
