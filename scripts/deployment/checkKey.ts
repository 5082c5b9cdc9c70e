// npm run check-key [-- --azd | -- --forget]
//
// Checks the Stripe key in STRIPE_SECRET_KEY before anything is created in Azure. Exits with 0 if Stripe accepts it, or if
// there is none: then the app is deployed without, and waits for it.
//
//   --azd     for azd's preprovision hook: asks for the key if the environment has none and no vault exists yet, and
//             hands it to azd for this deployment
//   --forget  for azd's postprovision hook: the vault has the key now, so azd's environment file loses it
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { askHidden } from './askHidden.ts';
import { checkStripeKey, withoutKey } from './stripeKey.ts';

const { values } = parseArgs({
  options: { azd: { type: 'boolean', default: false }, forget: { type: 'boolean', default: false } },
});
const {
  STRIPE_SECRET_KEY: given = '',
  STRIPE_API_BASE: apiBase,
  // azd sets both; the second is an output of the first deployment.
  AZURE_ENV_NAME: environment = '',
  KEY_VAULT_NAME: vault = '',
} = process.env;
const mostTries = 3;
const waiting =
  'no Stripe key: the app will be deployed, and wait for it (docs/deploy.md, "The first deployment")';

if (values.forget) forget();
else if (given !== '') process.exitCode = (await accepted(given)) ? 0 : 1;
else if (vault !== '') console.log(`no Stripe key given: the one in the vault ${vault} stays as it is`);
else if (values.azd && process.stdin.isTTY) process.exitCode = await ask();
else console.log(waiting);

async function ask(): Promise<number> {
  for (let tries = 0; tries < mostTries; tries++) {
    const key = await askHidden('Stripe secret key for this environment (sk_test_…; empty: later): ');
    if (key === '') {
      console.log(waiting);
      return 0;
    }
    if (await accepted(key)) {
      handToAzd(key);
      return 0;
    }
  }
  return 1;
}

async function accepted(key: string): Promise<boolean> {
  const check = await checkStripeKey(key, apiBase);
  if (check.kind === 'valid') {
    console.log(`Stripe accepts the key (${check.mode} mode)`);
    return true;
  }
  console.error(`STRIPE_SECRET_KEY: ${check.why}. Nothing has been created.`);
  return false;
}

/** From a file, because other users of this machine can read command lines. */
function handToAzd(key: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-'));
  try {
    const file = join(folder, 'key.env');
    writeFileSync(file, `STRIPE_SECRET_KEY=${key}\n`, { mode: 0o600 });
    execFileSync('azd', ['env', 'set', '--file', file], { stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function forget(): void {
  const file = join('.azure', environment, '.env');
  if (environment === '' || !existsSync(file)) return;
  const text = readFileSync(file, 'utf8');
  if (withoutKey(text) !== text) writeFileSync(file, withoutKey(text));
}
