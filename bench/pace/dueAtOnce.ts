/**
 * Many invoices due at once, far more than the provider's allowance pays in a minute: is each claimed once, does
 * none wait in backoff, and does the memory of the hosts stay flat?
 *
 *   npm run bench -- due-at-once [--invoices 10000] [--rate 25] [--latency 300] [--hosts 3]
 *
 * It takes invoices / rate seconds, 400 by default; half as long again and a minute later it gives up. The exit
 * code is 1 if something is missed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { wholeNumberArgument } from '../../packages/local-azure/src/wholeNumberArgument.ts';
import { startLocalApp } from '../localApp.ts';
import { readChargedTwice } from './chargedTwice.ts';
import { type DueAtOnce, missesOfDueAtOnce } from './dueAtOnceVerdict.ts';
import { startFleet } from './fleet.ts';
import { claimsPerPaid, readInvoiceFigures } from './invoiceFigures.ts';
import { watchMemory } from './memory.ts';
import { refusedShareOf, shareOf } from './samples.ts';

const { values } = parseArgs({
  options: {
    invoices: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '25' },
    latency: { type: 'string', default: '300' },
    hosts: { type: 'string', default: '3' },
  },
});
const number = (name: 'invoices' | 'rate' | 'latency' | 'hosts', of: string) =>
  wholeNumberArgument(`--${name}`, values[name], { min: 1, of });
const count = number('invoices', 'invoices');
const rate = number('rate', 'calls per second');
const latencyMs = number('latency', 'milliseconds');
const size = number('hosts', 'hosts');
const giveUpMs = 1_500 * (count / rate) + 60_000;
const pollMs = 1_000;

await using app = await startLocalApp(['--payments-rate', `${rate}`, '--payments-latency', `${latencyMs}`]);
await app.importDue('due', count);
const { hosts } = await startFleet(app, rate, size);
const started = performance.now();
const memory = watchMemory(hosts);
console.log(`${count} invoices due at once, ${rate} calls per second, ${latencyMs} ms, ${size} hosts`);
for (const part of [0.25, 0.5, 1]) {
  const reached = await untilCharged(count * part);
  const peaks = memory.peaks().map((mb) => mb.toFixed(0));
  const charged = reached ? '' : ' NOT';
  console.log(
    `${part * 100} %${charged} charged after ${elapsed().toFixed(0)} s, peak memory by host: ${peaks.join(', ')} MB`,
  );
  if (!reached) break;
}
const seconds = elapsed();
const payments = await app.paymentCounts();
await app.stopHosts();

const invoices = await readInvoiceFigures(app.clients.containers.invoices);
const figures: DueAtOnce = {
  count,
  ...invoices,
  chargedTwice: await readChargedTwice(app.payments),
  refused: refusedShareOf(payments),
};
console.log(
  `paid ${figures.paid}, charged ${payments.charges}: ${shareOf({ ...payments, seconds }, rate).toFixed(3)} of the allowance; ` +
    `${(figures.refused * 100).toFixed(2)} % of the calls refused`,
);
console.log(
  `claims per paid invoice ${claimsPerPaid(invoices).toFixed(3)}, claimed more than once ${figures.claimedAgain}, ` +
    `waited for another try ${figures.retried}`,
);
const misses = missesOfDueAtOnce(figures);
console.log(misses.length === 0 ? 'ok' : `MISSED: ${misses.join('; ')}`);
if (misses.length > 0) process.exitCode = 1;

function elapsed(): number {
  return (performance.now() - started) / 1000;
}

/** Watches the memory until so many charges are made. False if that takes too long. */
async function untilCharged(target: number): Promise<boolean> {
  for (;;) {
    memory.look();
    if ((await app.paymentCounts()).charges >= target) return true;
    if (performance.now() - started > giveUpMs) return false;
    await delay(pollMs);
  }
}
