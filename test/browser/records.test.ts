import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shardOf } from '../../src/invoice/shard.ts';
import { queues } from '../../src/platform/azureNames.ts';
import { databaseName } from '../../src/platform/cosmosContainers.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { type DashboardStack, dashboardStack, key } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { seed } from './support/seed.ts';
import { type WatchedPage, watchedPage } from './support/watchedPage.ts';

/** Records are found again: bulk changes with what they refused, a run's invoices, and who did what to which. */
describe.skipIf(!hasBrowser())('what was done, in the dashboard', { timeout: 180_000 }, () => {
  const stack = new AsyncDisposableStack();
  let dashboard: DashboardStack;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    dashboard = stack.use(await dashboardStack());
    await seed(dashboard, { history: false, hostile: false });
    browser = await openBrowser();
    stack.defer(() => browser.close());
  }, 240_000);
  afterAll(() => stack.disposeAsync());
  beforeEach(async () => {
    watched = await watchedPage(browser, dashboard);
    ({ page } = watched);
    return () => watched[Symbol.asyncDispose]();
  });

  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  const dialog = () => page.getByRole('dialog');
  const link = (name: string | RegExp) => page.getByRole('link', { name }).first();

  /** A parked invoice that names a payment which nobody has recorded: a bulk retry leaves it to a retry of its own. */
  async function parkedWithPayment(id: string, customerId: string): Promise<void> {
    const {
      actionableAt: _,
      _etag,
      ...invoice
    } = anInvoice({
      id,
      customerId,
      shard: shardOf(id, 16),
      status: 'parked',
      reason: 'unknown outcome',
      timeline: [{ at: '2026-01-01T12:00:00.000Z', what: 'parked', by: 'host-1', paymentId: 'pi_lost' }],
    });
    await dashboard.cloud.cosmosClient.database(databaseName).container('invoices').items.create(invoice);
  }

  test('a bulk change is in the list of runs with who, why and how many; what it refused is kept, and its invoices are a link', async () => {
    const body = Array.from({ length: 101 }, (_, n) => ({
      id: `BULK-${n}`,
      customerId: 'cus_Bulk',
      amountMinor: 1_000,
      currency: 'EUR',
      dueAt: '2026-01-01T00:00:00Z',
      paymentMethod: 'pm_card_misspelt',
    }));
    expect((await dashboard.ops('invoices', { method: 'POST', body })).ok).toBe(true);
    const run = { job: 'process-invoices' };
    await dashboard.ops('runs', { method: 'POST', body: run, key: 'parks them' });
    await expect
      .poll(
        async () => (await (await dashboard.ops('totals?status=parked&customer=cus_Bulk')).json()) as object,
        { timeout: 60_000 },
      )
      .toMatchObject({ count: 101 });
    await parkedWithPayment('BULK-NAMES-PAYMENT', 'cus_Bulk');

    await watched.view('/invoices?status=parked&customer=cus_Bulk');
    await page.getByLabel('Select BULK-').first().check();
    await press('Select all that match');
    await press('Retry…');
    await dialog()
      .getByRole('heading', { name: /^Retry 102 invoices \(1,010\.00 EUR/ })
      .waitFor();
    await dialog().getByLabel('Type 102').focus();
    await page.keyboard.type('102');
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('the card ids are right now\n');
    await page.getByRole('heading', { level: 1, name: 'Retry of parked invoices' }).waitFor();
    await page.getByText('101 of 102 changed, 1 not').waitFor({ timeout: 60_000 });
    await page.getByRole('row', { name: /BULK-NAMES-PAYMENT it names a payment/ }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent('download'), press('1 as CSV')]);
    expect(readFileSync(await saved.path(), 'utf8')).toContain('BULK-NAMES-PAYMENT,');

    await link('those that it has changed').click();
    await page.getByText('101 invoices: 1,010.00 EUR.').waitFor();
    await watched.view('/runs');
    const row = page.getByRole('row', { name: /Retry of parked invoices customer: cus_Bulk/ }).last();
    await row.getByText('101 of 102').waitFor();
    await row.getByText('function key').waitFor();

    await watched.view('/audit');
    await page.getByLabel('What').focus();
    await page.keyboard.type('START BULK\n');
    await page
      .getByRole('row', { name: /the card ids are right now/ })
      .first()
      .getByRole('link')
      .click();
    await page.getByRole('heading', { level: 1, name: 'Retry of parked invoices' }).waitFor();
  });

  test('a run of payments leads to the invoices that it has claimed', async () => {
    await watched.view('/runs?job=process-invoices');
    await page.getByRole('table').getByRole('link').last().click();
    await page.getByText('taken over by host-1').first().waitFor();
    const { runs } = (await (await dashboard.ops('runs')).json()) as {
      runs: { runId: string; trigger: string; counts: { claimed?: number } }[];
    };
    const first = runs.findLast(({ trigger }) => trigger === 'manual');
    await watched.view(`/runs/${first?.runId}`);
    await link('those that it has changed').click();
    await page.getByText(new RegExp(`^${first?.counts.claimed} invoices: `)).waitFor();
    await link('INV-2026-0050').waitFor();
    await press(/^Remove Run: /);
    await expect.poll(() => page.url()).not.toContain('run=');
  });

  test('selected invoices of which one changed in another tab: the refusal stays in the dialog, and can be saved', async () => {
    await watched.view('/invoices?status=declined');
    for (const id of ['INV-2026-0046', 'INV-2026-0047']) await page.getByLabel(`Select ${id}`).check();
    await using other = await watchedPage(browser, dashboard);
    await other.view('/invoices/INV-2026-0046');
    await other.page.getByRole('button', { name: 'Void…' }).click();
    await other.page.getByRole('dialog').getByLabel('Reason').focus();
    await other.page.keyboard.type('in the other tab\n');
    await other.page.getByRole('status').getByText('INV-2026-0046 is void.').waitFor();
    await press('Void…');
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('imported by mistake\n');
    await dialog().getByText('1 invoice voided. 1 was not:').waitFor();
    await dialog()
      .getByRole('row', { name: /INV-2026-0046 invoice "INV-2026-0046" is voided already/ })
      .waitFor();
    await dialog().getByRole('button', { name: '1 as CSV' }).waitFor();
    await dialog().getByRole('button', { name: 'Close' }).click();
    expect(await dialog().count()).toBe(0);
  });

  test('who did what is found over days, by a part of the words and by its target, which is a link', async () => {
    await watched.view('/invoices/INV-2026-0046');
    await link('What people did with it').click();
    await page
      .getByRole('row', { name: /void invoice/ })
      .getByRole('link', { name: 'INV-2026-0046' })
      .waitFor();
    await watched.view('/audit');
    await page.getByLabel('Days', { exact: true }).selectOption('last month');
    await page.getByText('Nothing was changed that matches.').waitFor();
    await page.getByLabel('Days', { exact: true }).selectOption('this month');
    await page.getByLabel('Who').focus();
    await page.keyboard.type('FUNCTION\n');
    await page
      .getByRole('row', { name: /import invoices/ })
      .first()
      .getByRole('link', { name: 'invoices' })
      .click();
    await page.getByRole('list', { name: 'Rows by what became of them' }).waitFor();
  });

  test('a dispute is told with its date for evidence, found by a filter, shown at Stripe, and warned of before a refund', async () => {
    const disputed = /Disputed over 420\.00 BRL \(product not received\), evidence due \d+ \w+ \d{4}\./;
    await watched.view('/');
    await page
      .getByRole('listitem')
      .filter({ hasText: '1 dispute waits' })
      .getByText('Review invoices')
      .click();
    await page.getByRole('row', { name: disputed }).getByRole('link', { name: 'INV-2026-0052' }).click();
    await page.getByText(disputed).first().waitFor();
    const stripe = link('at Stripe');
    expect(await stripe.getAttribute('href')).toMatch(
      /^https:\/\/dashboard\.stripe\.com\/acct_\w+\/test\/payments\/pi_/,
    );
    await press('Refund…');
    await dialog().getByText('This payment is disputed.').waitFor();
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('they are right\n');
    await dialog().getByText('Say that it is to be refunded although it is disputed.').waitFor();
    expect(await (await dashboard.ops('invoices/INV-2026-0052')).json()).toMatchObject({
      reversals: { refundedMinor: 0 },
    });
  });

  test('a refund of a part is told as such, and the report leads to the invoices', async () => {
    await watched.view('/invoices/INV-2026-0050');
    await press('Refund…');
    await dialog().getByLabel('Amount in USD').focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('55.02');
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('a visit less\n');
    await page.getByText(/It is paid\. Refunded 55\.02 of 255\.02/).waitFor();
    await watched.view('/report');
    await page
      .getByRole('table', { name: 'Totals by currency' })
      .getByRole('row', { name: /^USD/ })
      .getByRole('link', { name: '55.02', exact: true })
      .click();
    await page.getByRole('row', { name: /INV-2026-0050.*Refunded 55\.02 of 255\.02/ }).waitFor();
    // A figure of one day leads to what was refunded on that day, and a chip says so.
    await watched.view('/report');
    const today = new Date().toISOString().slice(0, 10);
    const ofToday = page.getByRole('table', { name: 'Totals by day and currency' });
    const row = ofToday.getByRole('row', { name: new RegExp(`^${today} USD`) });
    await row.getByRole('link', { name: '55.02', exact: true }).click();
    await page.getByRole('button', { name: `Remove In the report: refunded:${today}` }).waitFor();
    await page.getByText('1 invoice: 255.02 USD.').waitFor();
    await link('INV-2026-0050').waitFor();
  });

  test('dead letters come in pages, with the number of those that match', async () => {
    const queue = dashboard.cloud.queues.getQueueClient(queues.workItemsPoison);
    const send = (n: number) => {
      const item = JSON.stringify({ resourceId: `PAGE-${n}`, stage: 'no-such-stage', input: {} });
      return queue.sendMessage(Buffer.from(item).toString('base64'));
    };
    for (let from = 0; from < 104; from += 8)
      await Promise.all(Array.from({ length: 8 }, (_, n) => send(from + n)));
    const total = async () => {
      const answer = await dashboard.ops('dead-letters?queue=work-items');
      return ((await answer.json()) as { total: number }).total;
    };
    await expect.poll(total, { timeout: 60_000 }).toBe(105);
    await watched.view('/messages?tab=dead');
    await page.getByText('106 messages').waitFor();
    await page.getByLabel('Queue').selectOption('work-items');
    await page.getByText('105 messages').waitFor();
    expect(await page.getByRole('checkbox', { name: /^Select (?!all)/ }).count()).toBe(100);
    await press('Next');
    await page.getByText('5 on this page').waitFor();
    await page.getByLabel('Queue').selectOption('');
    await page.getByLabel('Why').focus();
    await page.keyboard.type('no reason like this\n');
    await page.getByText('No dead letters match.').waitFor();
  });

  test('a CSV says how far it is, and can be stopped', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/ops/invoices.csv*', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    await watched.view('/invoices');
    await press('CSV');
    await press('Stop CSV (being made)');
    await page.getByRole('status').getByText('invoices.csv was stopped.').waitFor();
    release();
    const [saved] = await Promise.all([page.waitForEvent('download'), press('CSV')]);
    expect(readFileSync(await saved.path(), 'utf8')).toContain('INV-2026-0042');
  });

  test('the overview begins with amounts, and a customer has a page with what they owe', async () => {
    await watched.view('/');
    const amounts = page.getByRole('region', { name: 'Amounts' });
    await amounts.getByText('Paid today').waitFor();
    await amounts.getByRole('link', { name: /^Declined/ }).waitFor();
    await watched.view('/invoices/INV-2026-0048');
    await link('cus_RioVerdeCoffee').click();
    await page.getByRole('heading', { level: 1, name: 'cus_RioVerdeCoffee' }).waitFor();
    await page.getByText(/^They owe [\d,.]+ BRL, \d invoices?\.$/).waitFor();
    await page.getByRole('table', { name: 'Invoices of the customer' }).getByText('INV-2026-0048').waitFor();
    await page.getByText('pm_card_misspelt').first().waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: /INV-2026-0042 over 310\.84 BRL was imported/ })
      .waitFor();
  });

  test('a name that is given with the key is in the audit trail, as the word of who gave it', async () => {
    await using stranger = await watchedPage(browser, dashboard, { signedOut: true });
    await stranger.view('/invoices/INV-2026-0053');
    await stranger.page.getByLabel('Your name').focus();
    await stranger.page.keyboard.type('Zoë');
    await stranger.page.getByLabel('Function key').focus();
    await stranger.page.keyboard.type(`${key}\n`);
    await stranger.page.getByText('function key (says: Zoë)').waitFor();
    await stranger.page.getByRole('button', { name: 'Void…' }).click();
    await stranger.page.getByRole('dialog').getByLabel('Reason').focus();
    await stranger.page.keyboard.type('sent by mistake\n');
    await stranger.page.getByRole('status').getByText('INV-2026-0053 is void.').waitFor();
    const answer = await dashboard.ops('audit?target=INV-2026-0053');
    expect(await answer.json()).toMatchObject({ records: [{ actor: 'function key (says: Zoë)' }] });
  });

  test('a fault in the end of a pause is shown at its field, and nothing is paused', async () => {
    await watched.view('/');
    await press('Pause…');
    const until = dialog().getByLabel(/^Until/);
    await until.fill('2026-01-01T00:00');
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('the bank asked us to\n');
    await expect.poll(() => until.getAttribute('aria-invalid')).toBe('true');
    await dialog().getByText('until: expected a time after now').waitFor();
    expect(await dialog().getByLabel('Reason').getAttribute('aria-invalid')).toBe('false');
    expect(await (await dashboard.ops('pause')).json()).toEqual({ paused: null });
  });

  test('a fault that the app finds is shown at its field', async () => {
    await watched.view('/invoices/INV-2026-0042');
    await press('Retry…');
    const field = dialog().getByLabel(/Another payment method/);
    await field.focus();
    await page.keyboard.type('her new card\n');
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
    const described = await field.getAttribute('aria-describedby');
    expect(await page.locator(`[id="${described}"]`).textContent()).toContain('expected');
  });
});
