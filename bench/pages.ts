/**
 * Measures how long each page of the dashboard takes until it has all its data, in Chromium, with no invoice and with a hundred
 * thousand: half of them paid, a quarter due now, a quarter due later. The host's timers rest.
 *
 *   npm run bench -- pages [--invoices N]
 *
 * Exits with 1 if a page complains in the console, asks another origin, or is wider than a window of 360 or 1280 pixels, or if the
 * first one takes longer than a second.
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../packages/leases/src/clock.ts';
import { ensureDashboard } from '../scripts/buildDashboard.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { openBrowser } from '../test/browser/support/openBrowser.ts';
import { watchedPage } from '../test/browser/support/watchedPage.ts';
import { storeMany } from '../test/invoice/counters/manyInvoices.ts';
import { startLocalApp } from './localApp.ts';

const times = 5;
const never = '0 0 0 29 2 *';
/** Milliseconds. */
const firstLoad = 1_000;

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '100000' } } });
const many = Number(values.invoices);
if (!Number.isInteger(many) || many < 1) {
  console.error('npm run bench -- pages [--invoices N]');
  process.exit(2);
}

await ensureDashboard();
await using app = await startLocalApp();
const { shards } = app.settings;
const invoices = cosmosInvoiceStore(app.clients.containers.invoices, { clock: systemClock, shards });
const host = await app.startHost('pages', { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never });
const address = `http://127.0.0.1:${host.port}`;
await using browser = await openBrowser();

let ok = true;
/** Each view, and a text that it shows with and without invoices. */
const views: readonly (readonly [path: string, without: string, withMany: string])[] = [
  ['/', 'Recent runs', 'Recent runs'],
  ['/invoices', 'No invoices yet', 'many-'],
  ['/invoices?status=paid', 'No invoice matches', 'many-'],
  ['/invoices?status=parked', 'No invoice matches', 'No invoice matches'],
  ['/invoices?customer=cus-7', 'No invoice matches', 'many-'],
  [`/invoices?counted=paid:${new Date().toISOString().slice(0, 10)}`, 'No invoice matches', 'many-'],
  ['/invoices/many-0', 'There is no invoice with this id', 'Timeline'],
  ['/customers/cus-7', 'There is no invoice of this customer', 'They owe'],
  ['/search?text=many-1', 'Nothing begins with', 'many-1'],
  ['/search?text=website', 'Nothing begins with', 'many-'],
  ['/search?text=310.84', 'Nothing begins with', 'many-'],
  ['/import', 'Drop a CSV or JSON file', 'Drop a CSV or JSON file'],
  ['/runs', '', ''],
  ['/leases', '', ''],
  ['/messages', '', ''],
  ['/messages?tab=dead', '', ''],
  ['/report', 'Nothing moved', 'By day'],
  ['/audit', '', ''],
];

const ofNone = await measureAll(1);
const started = performance.now();
await storeMany(invoices, many, { shards, now: Date.now(), prefix: 'many' });
console.log(`${many} invoices stored in ${((performance.now() - started) / 1000).toFixed(1)} s`);
const ofMany = await measureAll(2);

console.log(`${'page'.padEnd(34)} ${'0 invoices'.padStart(12)} ${String(many).padStart(12)}`);
for (const [path] of views) {
  const figures = [ofNone, ofMany].map((of) => `${(of.get(path) ?? Number.NaN).toFixed(0)} ms`.padStart(12));
  console.log(`${path.padEnd(34)} ${figures.join(' ')}`);
}
process.exit(ok ? 0 : 1);

/** The median of each page in milliseconds. `text`: which of the two texts it must show. */
async function measureAll(text: 1 | 2): Promise<Map<string, number>> {
  const medians = new Map<string, number>();
  for (const width of [360, 1280]) {
    await using watched = await watchedPage(browser, { address }, { width });
    for (const view of views) {
      const [path] = view;
      const took: number[] = [];
      for (let n = 0; n < times; n++) {
        const from = performance.now();
        await watched.page.goto(`${address}/api/ops/ui${path}`);
        await watched.page.getByRole('heading', { level: 1 }).waitFor();
        if (view[text] !== '') await watched.shows(view[text]);
        took.push(performance.now() - from);
        await watched.page.waitForLoadState('networkidle');
      }
      medians.set(path, took.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN);
      // The browser itself reports the 404 of an invoice that is not there.
      const complaints = watched.complaints.splice(0).filter((one) => !one.includes('404'));
      const overflow = await watched.overflow();
      if (complaints.length > 0 || overflow > 0) {
        ok = false;
        console.log(`${path} at ${width} pixels: ${overflow} too wide; ${complaints.join('; ')}`);
      }
    }
  }
  ok &&= (medians.get('/') ?? Number.NaN) < firstLoad;
  return medians;
}
