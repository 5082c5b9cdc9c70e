import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startLocalCloud } from '../support/localCloud.ts';
import type { CrashPoint } from './gate.ts';
import { runTrial } from './trial.ts';

const serviceBusConfig = fileURLToPath(new URL('./serviceBus.json', import.meta.url));
const scenario = { name: 'one-invoice', invoices: 1, hosts: 1 };

/** The two points of `npm run test:crash` at which most could be lost or done twice. */
const points: CrashPoint[] = [
  { label: 'payments: charge', occurrence: 1, position: 'after' },
  { label: 'Cosmos: settlement + outbox message', occurrence: 1, position: 'after' },
];

test.concurrent.each(points)(
  'a host killed $position "$label": the invoice is paid once',
  async (point) => {
    await using cloud = await startLocalCloud({ serviceBusConfig });
    const { verdict } = await runTrial(cloud, scenario, 'crash', point);
    expect(verdict).toEqual({ kind: 'held' });
  },
  150_000,
);
