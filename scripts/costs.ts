// npm run costs
//
// Prints what the app costs in a month: the table of docs/deploy.md ("Estimated cost"), and the counts and prices behind
// it. Change a count in scripts/costs/usage.ts or a price in scripts/costs/prices.ts, and put what this prints into the
// page: a test compares the two.
import { readFileSync } from 'node:fs';
import { alertsIn } from './costs/alertsIn.ts';
import { costPage } from './costs/table.ts';

const bicep = readFileSync(new URL('../infra/modules/alerts.bicep', import.meta.url), 'utf8');
console.log(costPage(alertsIn(bicep)));
