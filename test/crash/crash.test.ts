import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startLocalCloud } from '../support/localCloud.ts';
import { isFull } from '../support/onlyInFull.ts';
import type { CrashPoint } from './gate.ts';
import { runTrial } from './trial.ts';

const serviceBusConfig = fileURLToPath(new URL('./serviceBus.json', import.meta.url));
/**
 * The sweep's claims go stale after five seconds, which leaves a call one second: on a busy machine the payment then takes
 * several tries, and minutes.
 */
const env = { CLAIM_STALE_SECONDS: '15' };
const scenario = { name: 'one-invoice', invoices: 1, hosts: 1, env };

/** The two points of `npm run check -- crash` at which most could be lost or done twice. */
const points: CrashPoint[] = [
  { label: 'payments: charge', occurrence: 1, position: 'after' },
  { label: 'Cosmos: settlement + outbox message', occurrence: 1, position: 'after' },
];

test.concurrent.each(isFull ? points : points.slice(0, 1))(
  'a host killed $position "$label": the invoice is paid once',
  async (point) => {
    await using cloud = await startLocalCloud({ serviceBusConfig });
    const { verdict, logs } = await runTrial(cloud, scenario, 'crash', point);
    const printed = [...logs].flatMap(([instance, lines]) => lines.map((line) => `${instance}: ${line}`));
    expect(verdict, printed.join('\n')).toEqual({ kind: 'held' });
  },
  150_000,
);
