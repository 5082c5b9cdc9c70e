import { expect, test } from 'vitest';
import { noSignals } from '../support/signals.ts';
import { fleetCampaign } from './campaign.ts';
import { bulk, shutdown } from './campaigns.ts';

/* The short forms of `npm run check -- fleet`; `.ci/run` has a minute of chaos. */

test.skipIf(noSignals)(
  'hosts that Azure stops in the middle of a run: everything is paid once, and every record is right',
  { timeout: 300_000 },
  async () => {
    const report = await fleetCampaign(
      shutdown({ seed: 1, hosts: 2, minutes: 1 / 4, invoices: 300, stops: 2 }),
    );
    expect(report.problems).toEqual([]);
    expect(report.evidence.invoices).toHaveLength(300);
    expect(report.stops).toHaveLength(2);
  },
);

test(
  'bulk runs retry and redrive each thing once while hosts are killed, and the audit says who and why',
  { timeout: 400_000 },
  async () => {
    const size = { invoices: 300, messages: 100, deadLetters: 40 };
    const { problems } = await fleetCampaign(
      bulk({ seed: 1, hosts: 3, kills: 2, killEveryMs: 1_000, size, drainMs: 250_000 }),
    );
    expect(problems).toEqual([]);
  },
);
