// npm run check-target [-- --azd]
//
// Before anything is created in Azure: does the region offer what the template needs, and may this identity do what it does? Exits
// with 0 if so, or if Azure cannot be asked. For the first deployment of an environment it also silences the alerts for two hours
// (PAYONCE_ALERTS_QUIET_UNTIL), unless a time to come is set: through azd with --azd, else for the later steps of a workflow.
//
// Environment variables, as for the deployment: AZURE_SUBSCRIPTION_ID, AZURE_ENV_NAME, AZURE_LOCATION, PAYONCE_STORAGE_SKU,
// PAYONCE_ROLE_ASSIGNMENTS, PAYONCE_RESOURCE_LOCKS, PAYONCE_ALERTS_QUIET_UNTIL. Signs in as azd or az is signed in.
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorText } from '../../packages/leases/src/errorText.ts';
import { resourceManager } from './resourceManager.ts';
import { checkTarget, type TargetCheck } from './target.ts';

const { values } = parseArgs({ options: { azd: { type: 'boolean', default: false } } });
const {
  AZURE_SUBSCRIPTION_ID: subscription = '',
  AZURE_ENV_NAME: environment = '',
  AZURE_LOCATION: location = '',
  PAYONCE_STORAGE_SKU: storageSku = '',
  PAYONCE_ROLE_ASSIGNMENTS: roleAssignments = '',
  PAYONCE_RESOURCE_LOCKS: resourceLocks = '',
  PAYONCE_ALERTS_QUIET_UNTIL: quietUntil = '',
  GITHUB_ENV: laterSteps = '',
} = process.env;
const quietMs = 2 * 3_600_000;

const check = await asked();
if (check?.kind === 'refused') {
  console.error(`${check.why}\nNothing has been created.`);
  process.exitCode = 1;
} else if (check !== undefined) {
  console.log(`${location} offers what the deployment needs`);
  if (check.first && !(Date.parse(quietUntil) > Date.now()))
    silence(new Date(Date.now() + quietMs).toISOString());
}

async function asked(): Promise<TargetCheck | undefined> {
  if (subscription === '' || environment === '' || location === '') {
    console.log('subscription, environment and region are not chosen yet: they were not checked');
    return undefined;
  }
  const target = {
    subscription,
    environment,
    location,
    storageSku: storageSku === '' ? 'Standard_ZRS' : storageSku,
    roleAssignments: roleAssignments !== 'false',
    resourceLocks: resourceLocks !== 'false',
  };
  try {
    return await checkTarget(target, resourceManager(process.env.AZURE_RESOURCE_MANAGER).read);
  } catch (error) {
    // The deployment itself will say what is wrong: this only would have said it earlier.
    console.log(`region and permissions were not checked: ${errorText(error)}`);
    return undefined;
  }
}

function silence(until: string): void {
  if (values.azd)
    execFileSync('azd', ['env', 'set', 'PAYONCE_ALERTS_QUIET_UNTIL', until], { stdio: 'inherit' });
  else if (laterSteps !== '') appendFileSync(laterSteps, `PAYONCE_ALERTS_QUIET_UNTIL=${until}\n`);
  else {
    console.log(`a first deployment: PAYONCE_ALERTS_QUIET_UNTIL=${until} would silence its alerts`);
    return;
  }
  console.log(`a first deployment: alerts tell nobody until ${until}`);
}
