import { type LocalApp, startLocalApp } from '../../bench/localApp.ts';
import { type FuzzResult, fuzz } from './fuzz.ts';

const never = '0 0 0 29 2 *';

/** Fuzzes one host on a local cloud of its own. */
export async function fuzzOneHost(options: { requests: number; seed: number }): Promise<FuzzResult> {
  await using app: LocalApp = await startLocalApp();
  const host = await app.startHost('fuzzed', { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never });
  const secrets = [app.settings.stripe.secretKey, app.serviceBus, 'AccountKey=', 'SharedAccessKey='];
  return await fuzz(`http://127.0.0.1:${host.port}`, { ...options, secrets });
}
