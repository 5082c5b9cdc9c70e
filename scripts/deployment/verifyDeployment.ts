// npm run verify-deployment
//
// After a deployment: synchronizes the triggers, waits until ops/health is ok, and until the timers fire. Exits with 0 if
// they do, or if the app waits for a secret that its vault does not have. Otherwise it says what to look at.
//
// Environment variables, which azd sets and deploy.yml passes: AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP,
// AZURE_FUNCTION_APP_NAME, KEY_VAULT_NAME, OPS_ADDRESS; and as for the deployment PAYONCE_INVOICE_INTERVAL_SECONDS,
// PAYONCE_PAYMENTS_PAUSED and PAYONCE_OPS_CLIENT_ID. Signs in as azd or az is signed in.
import { z } from 'zod';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { errorText } from '../../packages/leases/src/errorText.ts';
import { deployedApp } from './deployedApp.ts';
import { resourceManager } from './resourceManager.ts';
import { verifyDeployment } from './verify.ts';

const name = z.string({ error: 'is missing: expected an output of the deployment' }).min(1);
const inputs = z.object({
  AZURE_SUBSCRIPTION_ID: name,
  AZURE_RESOURCE_GROUP: name,
  AZURE_FUNCTION_APP_NAME: name,
  KEY_VAULT_NAME: name,
  OPS_ADDRESS: z.url(),
  /** A stand-in, for tests. Tokens are then not asked for. */
  AZURE_RESOURCE_MANAGER: z.url().optional(),
  PAYONCE_INVOICE_INTERVAL_SECONDS: z
    .string()
    .transform((text) => (text === '' ? 300 : Number(text)))
    .default(300),
  PAYONCE_PAYMENTS_PAUSED: z.string().default(''),
  PAYONCE_OPS_CLIENT_ID: z.string().default(''),
});
const read = inputs.safeParse(process.env);
if (!read.success) {
  console.error(z.prettifyError(read.error));
  process.exit(2);
}
const env = read.data;
const arm = resourceManager(env.AZURE_RESOURCE_MANAGER);
const opsToken =
  env.PAYONCE_OPS_CLIENT_ID === '' ? undefined : arm.tokenFor(`api://${env.PAYONCE_OPS_CLIENT_ID}/.default`);
// Both now: the sign-in of a pipeline can be exchanged for tokens for five minutes. az and azd keep what they have got.
try {
  await arm.token();
  await opsToken?.();
} catch (error) {
  console.error(`no token: ${errorText(error)}\nSign in with az login or azd auth login.`);
  process.exit(1);
}

const group = `/subscriptions/${env.AZURE_SUBSCRIPTION_ID}/resourceGroups/${env.AZURE_RESOURCE_GROUP}`;
const app = deployedApp({
  resourceId: `${group}/providers/Microsoft.Web/sites/${env.AZURE_FUNCTION_APP_NAME}`,
  vaultId: `${group}/providers/Microsoft.KeyVault/vaults/${env.KEY_VAULT_NAME}`,
  ops: env.OPS_ADDRESS,
  arm: arm.address,
  armToken: arm.token,
  ...(opsToken === undefined ? {} : { opsToken }),
});
const verdict = await verifyDeployment(app, {
  clock: systemClock,
  intervalSeconds: env.PAYONCE_INVOICE_INTERVAL_SECONDS,
  paused: env.PAYONCE_PAYMENTS_PAUSED === 'true',
  signIn: env.PAYONCE_OPS_CLIENT_ID !== '',
  log: console.log,
});
switch (verdict.kind) {
  case 'works':
    for (const note of verdict.notes) console.log(note);
    console.log('the deployment works');
    break;
  case 'waits':
    console.log(`the app is deployed and waits for a secret: ${verdict.for}`);
    console.log('docs/deploy.md, "The first deployment", says how to hand it over');
    break;
  case 'failed':
    console.error(`${verdict.what}\n${verdict.look}`);
    process.exitCode = 1;
    break;
}
