import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startLocalApp } from '../localApp.ts';
import type { Cell, Change } from './cells.ts';
import { readChargedTwice } from './chargedTwice.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { claimsPerPaid, readInvoiceFigures } from './invoiceFigures.ts';
import { chargesBySample, refusedShareOf, type Sample, shareOf, spanOf } from './samples.ts';
import { startSampling } from './sampling.ts';
import type { Measurement } from './verdict.ts';

export interface MeasuredCell {
  measured: Measurement;
  /** Charges in each second from the first tick on. */
  chargesBySecond: number[];
}

export interface Times {
  /** From the first tick of the job until the measurement begins. */
  warmUpMs: number;
  measureMs: number;
}

/** Milliseconds after a change over which the share is taken. */
const afterChangeMs = 30_000;
/** Seconds of work beyond those measured, so that the app never runs out of due invoices. */
const slackSeconds = 30;

/** Measures one cell on a cloud of its own. */
export async function measureCell(cell: Cell, { warmUpMs, measureMs }: Times): Promise<MeasuredCell> {
  const { rate, latencyMs, hosts, change } = cell;
  const changeMs = warmUpMs + measureMs / 2;
  const endMs = Math.max(warmUpMs + measureMs, change === undefined ? 0 : changeMs + afterChangeMs);
  await using app = await startLocalApp(['--payments-rate', `${rate}`, '--payments-latency', `${latencyMs}`]);
  await app.importDue('pace', Math.ceil(rate * (endMs / 1000 + slackSeconds)));
  const fleet = await startFleet(app, rate, hosts);
  const sampling = startSampling(app);
  const tick = performance.now();
  const until = (ms: number) => delay(Math.max(0, tick + ms - performance.now()));
  if (change !== undefined) {
    await until(changeMs);
    await changeFleet(fleet, change);
  }
  await until(endMs);
  await sampling.stop();
  await app.stopHosts();

  const { samples } = sampling;
  const whole = spanOf(samples, tick + warmUpMs, tick + endMs + 1_000);
  const figures = await readInvoiceFigures(app.clients.containers.invoices);
  const counts = await app.paymentCounts();
  const measured: Measurement = {
    ...sharesOf(samples),
    refused: refusedShareOf(counts),
    claimsPerPaid: claimsPerPaid(figures),
    cosmosPerInvoice: whole.cosmos / whole.charges,
    pacePerInvoice: whole.pace / whole.charges,
    busy: whole.busyMs / (whole.seconds * 1000 * cpus().length),
    paid: figures.paid,
    unsettled: counts.charges - figures.paid,
    chargedTwice: await readChargedTwice(app.payments),
  };
  return { measured, chargesBySecond: chargesBySample(samples) };

  function sharesOf(all: readonly Sample[]): Pick<Measurement, 'share' | 'shareAfterChange'> {
    if (change === undefined) return { share: shareOf(whole, rate) };
    const before = spanOf(all, tick + warmUpMs, tick + changeMs);
    const after = spanOf(all, tick + changeMs, tick + changeMs + afterChangeMs);
    return { share: shareOf(before, rate), shareAfterChange: shareOf(after, rate) };
  }
}

async function changeFleet(fleet: Fleet, change: Change): Promise<void> {
  switch (change) {
    case 'kill':
      fleet.hosts[0]?.process.kill('SIGKILL');
      return;
    case 'add':
      return fleet.add();
  }
}
