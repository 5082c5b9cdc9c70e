// npm run check -- walk: twelve tasks of a clerk in the dashboard, in Chromium on a local stack, typed as a person types. Prints the
// clicks, keys and seconds of each. A choice from a list and that of a file count as two clicks; reading and thinking take no time.
import { readFile } from 'node:fs/promises';
import type { Locator } from 'playwright-core';
import { dashboardStack } from './support/dashboardStack.ts';
import { openBrowser } from './support/openBrowser.ts';
import { parkMessages, seed } from './support/seed.ts';
import { watchedPage } from './support/watchedPage.ts';

await using stack = await dashboardStack();
await seed(stack, { hostile: false });
await parkMessages(stack, ['parked-by-the-queue']);
await using browser = await openBrowser();
await using watched = await watchedPage(browser, stack);
const { page } = watched;

let clicks = 0;
let keys = 0;
const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
const link = (name: string) => page.getByRole('link', { name, exact: true }).first();
const attention = (text: string) => page.getByRole('listitem').filter({ hasText: text });
const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
const row = (id: string, amount: string) => `${id},cus_Walk,${amount},EUR,2099-01-01T00:00:00Z`;
const header = 'id,customerId,amount,currency,dueAt';

async function click(target: Locator): Promise<void> {
  clicks++;
  await target.click();
}
async function type(text: string): Promise<void> {
  keys += text.length;
  await page.keyboard.type(text);
}
async function pick(label: string, option: string): Promise<void> {
  clicks += 2;
  await page.getByLabel(label, { exact: true }).selectOption(option);
}
async function choose(name: string, text: string): Promise<void> {
  clicks += 2;
  const file = { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
  await page.locator('input[type=file]').setInputFiles(file);
}
/** Opens what a search finds by its whole id. */
async function open(id: string): Promise<void> {
  await type('/');
  await type(`${id}\n`);
}
async function saved(name: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), click(button(name))]);
  return readFile(await file.path(), 'utf8');
}

let refused = '';
const tasks: Readonly<Record<string, () => Promise<void>>> = {
  async 'import a file with a bad row'() {
    await click(link('Import'));
    await choose('walk.csv', `${header}\n${row('WALK-1', '10.00')}\n${row('WALK-2', '1.999')}\n`);
    await click(button('Import 2 rows'));
    await shown('expected at most 2 decimals');
  },
  async 'mend it: save the refused rows, import the mended file'() {
    await click(link('Import'));
    await click(link('walk.csv'));
    refused = await saved('Rejected rows as a file');
    await click(link('Import'));
    await choose('mended.csv', refused.replace('1.999', '1.99'));
    await click(button('Import 1 row'));
    await shown('Stored: 1.99 EUR');
  },
  async 'retry with another card'() {
    await open('INV-2026-0045');
    await click(button('Retry…'));
    await type('pm_card_visa\n');
    await shown('INV-2026-0045 is due again');
  },
  async 'refund half'() {
    await open('INV-2026-0050');
    await click(button('Refund…'));
    await page.keyboard.press('Control+a');
    await type('127.51');
    await page.keyboard.press('Tab');
    await type('a visit less\n');
    await shown('Refunded 127.51 of 255.02');
  },
  async 'what a customer owes'() {
    await open('cus_rio');
    await click(link('cus_RioVerdeCoffee'));
    await shown(/^They owe [\d,.]+ BRL/);
  },
  async 'who voided an invoice'() {
    await open('INV-2026-0053');
    await click(link('What people did with it'));
    await page.getByRole('row', { name: /void invoice/ }).waitFor();
  },
  async "this month's report, as CSV"() {
    await click(link('Report'));
    await pick('Days', 'this month');
    await page.getByRole('table').first().waitFor();
    await saved('CSV');
  },
  async 'stop payments'() {
    await click(button('Pause…'));
    await click(page.getByRole('dialog').getByLabel('Reason'));
    await type('the bank asked us to\n');
    await shown('Payments are paused by');
  },
  async 'undo a void'() {
    await open('INV-2026-0053');
    await click(button('Undo void…'));
    await type('it was the wrong one\n');
    await shown('It is not due yet.');
  },
  async 'redrive what a queue refused'() {
    await click(attention('refused by its queue').getByRole('button', { name: 'Redrive…' }));
    await page.getByRole('heading', { name: /^Redrive \d/ }).waitFor();
    await type('the queue takes it now\n');
    await shown('completed');
  },
  async 'retry all that are parked'() {
    await click(link('Invoices'));
    await pick('Status', 'parked');
    await click(page.getByRole('checkbox', { name: /^Select all/ }));
    await click(button('Retry…'));
    await type('the card ids are right now\n');
    await shown(/invoices? put back to pending/);
  },
  async 'disputes: which, until when, and at Stripe'() {
    await click(attention('1 dispute waits').getByText('Review invoices'));
    await click(link('INV-2026-0052'));
    await shown(/evidence due \d+ \w+ \d{4}/);
    await page.getByRole('link', { name: 'at Stripe' }).first().waitFor();
  },
};

const byHand = { method: 'POST', body: { reason: 'sent by mistake' } };
await stack.ops('invoices/INV-2026-0053/void', byHand);
console.log(`${'task'.padEnd(56)} clicks  keys  seconds`);
for (const [name, walk] of Object.entries(tasks)) {
  await watched.view('/');
  clicks = 0;
  keys = 0;
  const began = performance.now();
  await walk();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(
    `${name.padEnd(56)} ${String(clicks).padStart(6)} ${String(keys).padStart(5)} ${seconds.padStart(8)}`,
  );
  if (name === 'stop payments') await stack.ops('resume', { method: 'POST', body: {} });
}
