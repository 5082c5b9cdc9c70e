import { readFileSync } from 'node:fs';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DashboardStack, dashboardStack } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { seed, untilStatus } from './support/seed.ts';
import { type WatchedPage, watchedPage } from './support/watchedPage.ts';

/** The dashboard under the hands of a person: keys one by one, two tabs, answers that are lost. */
describe.skipIf(!hasBrowser())('the dashboard, typed into', { timeout: 180_000 }, () => {
  const stack = new AsyncDisposableStack();
  let dashboard: DashboardStack;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    dashboard = stack.use(await dashboardStack());
    await seed(dashboard, { history: false });
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
  const confirm = (name: string | RegExp) => dialog().getByRole('button', { name }).click();
  const said = (text: string | RegExp) => page.getByRole('status').getByText(text).waitFor();
  const focused = () => page.evaluate('document.activeElement.name || document.activeElement.tagName');

  async function type(label: string, text: string): Promise<void> {
    await page.getByLabel(label, { exact: true }).focus();
    await page.keyboard.type(text);
  }
  async function invoice(id: string): Promise<Record<string, unknown>> {
    return (await (await dashboard.ops(`invoices/${id}`)).json()) as Record<string, unknown>;
  }
  async function importInvoices(ids: readonly string[], rest: Record<string, unknown>): Promise<void> {
    const body = ids.map((id) => ({
      id,
      customerId: 'cus_Typed',
      amountMinor: 1_000,
      currency: 'EUR',
      dueAt: '2099-01-01T00:00:00Z',
      paymentMethod: 'pm_card_visa',
      ...rest,
    }));
    expect((await dashboard.ops('invoices', { method: 'POST', body })).ok).toBe(true);
  }
  /** Opens a dialog, which has the focus then. */
  async function open(name: string): Promise<void> {
    await press(name);
    await expect.poll(() => page.evaluate('document.activeElement.closest("dialog") !== null')).toBe(true);
  }
  /** Makes the page look again, as it does when its tab is looked at. */
  async function looksAgain(answer: RegExp): Promise<void> {
    const looked = page.waitForResponse(answer);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await looked;
  }

  describe('a selection', () => {
    test('of everything that matches ends with the first row that is unticked: that row is not voided', async () => {
      const ids = Array.from({ length: 103 }, (_, n) => `INV-ALL-${String(n).padStart(3, '0')}`);
      await importInvoices(ids, { customerId: 'cus_All' });
      await watched.view('/invoices?status=pending&customer=cus_All');
      await page.getByLabel('Select all on this page').check();
      await page.getByText('100 invoices selected: 1,000.00 EUR').waitFor();
      await press('Select all that match');
      await page.getByText('Every invoice that matches is selected, on all pages.').waitFor();
      const boxes = page.getByRole('checkbox', { name: /^Select INV-ALL/ });
      const kept = [0, 1, 2].map((n) => boxes.nth(n));
      const keptIds = await Promise.all(
        kept.map(async (box) => (await box.getAttribute('aria-label'))?.slice('Select '.length) ?? ''),
      );
      for (const box of kept) await box.uncheck();
      await page.getByText('97 invoices selected: 970.00 EUR').waitFor();
      await open('Void…');
      await dialog().getByRole('heading', { name: 'Void 97 invoices (970.00 EUR)?' }).waitFor();
      await page.keyboard.type('imported twice');
      await page.keyboard.press('Enter');
      await said('97 invoices voided.');
      for (const id of keptIds) expect(await invoice(id)).toMatchObject({ status: 'pending' });
    });

    test('of everything that matches holds the rows that come meanwhile', async () => {
      await importInvoices(
        Array.from({ length: 101 }, (_, n) => `INV-MORE-${n}`),
        { customerId: 'cus_More' },
      );
      await watched.view('/invoices?status=pending&customer=cus_More');
      await page.getByLabel('Select INV-MORE-').first().check();
      await press('Select all that match');
      await expect
        .poll(() => page.getByRole('checkbox', { name: /^Select INV-MORE/, checked: true }).count())
        .toBe(100);
    });
  });

  describe('a filter', () => {
    test.each([
      ['/invoices', 'Due from', 'dueAfter'],
      ['/report', 'From', 'from'],
      ['/audit', 'Day', 'day'],
    ])('of a date on %s: typed by keys, applied at Enter, the focus stays', async (path, label, name) => {
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() >= 400) refused.push(response.url());
      });
      await watched.view(path);
      await type(label, '01012026');
      expect(page.url()).not.toContain('0002');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.url()).toContain(`${name}=2026-01-01`);
      expect(await focused()).toBe(name);
      expect(refused).toEqual([]);
    });

    test('of a date applies when it is left, too, and an unfinished year does not', async () => {
      await watched.view('/invoices');
      await type('Due from', '0101202');
      await page.getByLabel('Customer').focus();
      expect(page.url()).not.toContain('dueAfter');
      await type('Due from', '01012026');
      await page.getByLabel('Customer').focus();
      await expect.poll(() => page.url()).toContain('dueAfter=2026-01-01');
    });

    test('of a text keeps what is typed while the list is looked at again', async () => {
      await watched.view('/invoices?status=parked');
      await type('Customer', 'cus_Harbor');
      await looksAgain(/ops\/invoices\?/);
      await page.keyboard.type('Street');
      await looksAgain(/ops\/invoices\?/);
      await page.keyboard.type('Dental');
      expect(page.url()).not.toContain('customer');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'INV-2026-0043' }).waitFor();
      expect(page.url()).toContain('customer=cus_HarborStreetDental');
      expect(await focused()).toBe('customer');
    });

    test('shows what the URL says after a step back', async () => {
      await watched.view('/invoices?status=parked');
      await type('Customer', 'cus_RioVerdeCoffee\n');
      await expect.poll(() => page.url()).toContain('customer=');
      await page.goBack();
      await expect.poll(() => page.getByLabel('Customer').inputValue()).toBe('');
    });
  });

  test('the header is one row at 1280 pixels', async () => {
    await watched.view('/');
    expect(await page.evaluate('document.querySelector(".top").offsetHeight')).toBeLessThan(64);
  });

  test('the number of due invoices leads to invoices that are due', async () => {
    await importInvoices(['INV-DUE-LATER'], { customerId: 'cus_Later' });
    await watched.view('/');
    await page.getByRole('listitem').filter({ hasText: /^Due/ }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Invoices' }).waitFor();
    await page.getByLabel('Customer').focus();
    await page.keyboard.type('cus_Later\n');
    await page.getByText('No invoice matches these filters.').waitFor();
  });

  test('the next page of a list puts the focus on its heading', async () => {
    await importInvoices(
      Array.from({ length: 101 }, (_, n) => `INV-PAGE-${n}`),
      { customerId: 'cus_Page' },
    );
    await watched.view('/invoices?customer=cus_Page');
    await press('Next');
    await page.getByText('1 on this page').waitFor();
    expect(await focused()).toBe('H1');
  });

  test('a full refund of which somebody has refunded a part meanwhile is refused, not made smaller', async () => {
    await watched.view('/invoices/INV-2026-0050');
    await open('Refund…');
    const key = 'a refund in another tab';
    const body = { amountMinor: 10_000, reason: 'a visit less' };
    expect((await dashboard.ops('invoices/INV-2026-0050/refund', { method: 'POST', body, key })).status).toBe(
      202,
    );
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('all of it');
    await page.keyboard.press('Enter');
    await dialog().getByText('15502 is left').waitFor();
    expect(await invoice('INV-2026-0050')).toMatchObject({ reversals: { refundedMinor: 10_000 } });
  });

  test('a due date in the past says that it is charged at the next run, and asks why', async () => {
    await importInvoices(['INV-PAST'], {});
    await watched.view('/invoices/INV-PAST');
    await open('Due date…');
    await page.keyboard.type('01012026');
    await dialog().getByText('This time is in the past: the invoice is charged at the next run.').waitFor();
    await confirm('Move');
    await dialog().getByText('Say why').waitFor();
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('the customer asked for it\n');
    await said('The due date of INV-PAST is moved.');
    const { records } = (await (await dashboard.ops('audit')).json()) as { records: unknown[] };
    expect(records[0]).toMatchObject({
      action: 'move due date',
      detail: { reason: 'the customer asked for it' },
    });
  });

  test('a refusal names the fields in the dialog', async () => {
    await watched.view('/invoices/INV-2026-0044');
    await open('Retry…');
    await page.keyboard.type('her new card');
    await confirm('Retry');
    await expect.poll(() => dialog().textContent(), { timeout: 5_000 }).toContain('paymentMethod');
  });

  test('the key is forgotten in all tabs: none gives it back', async () => {
    await using stranger = await watchedPage(browser, dashboard, { signedOut: true });
    await stranger.view('/leases');
    await stranger.page.getByLabel('Function key').focus();
    await stranger.page.keyboard.type('key-of-the-browser-tests\n');
    await stranger.page.getByRole('heading', { name: 'Leases' }).waitFor();
    const other = await stranger.page.context().newPage();
    await other.goto(`${dashboard.address}/api/ops/ui/runs`);
    await other.getByRole('heading', { name: 'Runs' }).waitFor();
    await stranger.page.getByRole('button', { name: 'Forget key' }).click();
    await other.getByText('The key was forgotten in another tab.').waitFor();
    await stranger.page.reload();
    await stranger.page.getByLabel('Function key').waitFor();
  });

  test('an invoice that was declined softly is paid at once with another card', async () => {
    await watched.view('/invoices/INV-2026-0048');
    await page.getByText('It is tried again by itself').waitFor();
    await open('Retry…');
    await page.keyboard.type('pm_card_visa');
    await page.keyboard.press('Tab');
    await page.keyboard.type('she gives another card\n');
    await said('INV-2026-0048 is due again');
    const run = { job: 'process-invoices' };
    await dashboard.ops('runs', { method: 'POST', body: run, key: 'after the other card' });
    await untilStatus(dashboard, 'INV-2026-0048', 'paid');
    const { timeline } = await invoice('INV-2026-0048');
    expect(timeline).toContainEqual(
      expect.objectContaining({ what: 'retried', from: 'pending', paymentMethod: 'pm_card_visa' }),
    );
  });

  test('an invoice that is not due says what to do instead of a retry', async () => {
    await importInvoices(['INV-LATER'], {});
    await watched.view('/invoices/INV-LATER');
    const retry = page.getByRole('button', { name: 'Retry…' });
    expect(await retry.getAttribute('title')).toBe('It is not due yet: move its due date instead.');
  });

  describe('the state', () => {
    /** Lets the overview say that nothing needs a person. */
    async function calmDay(): Promise<void> {
      await page.route('**/api/ops/overview', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ json: { ...((await answer.json()) as object), attention: [] } });
      });
    }

    test('is on every page: a pause with its reason, and no run can be started', async () => {
      await calmDay();
      await watched.view('/');
      await page.getByText('Nothing needs you.').waitFor();
      await open('Pause…');
      await page.getByLabel('Reason').focus();
      await page.keyboard.type('the bank asked us to\n');
      await page.getByText('Payments are paused by function key').waitFor();
      expect(await page.getByText('Nothing needs you.').count()).toBe(0);
      for (const path of ['/runs', '/invoices', '/report', '/runbook', '/']) {
        await watched.view(path);
        await page.getByText('the bank asked us to').waitFor();
      }
      const start = page.getByRole('button', { name: 'Start run…' }).first();
      expect(await start.getAttribute('title')).toContain('Payments are paused');
      await importInvoices(['INV-WAITS'], { dueAt: '2026-01-01T00:00:00Z' });
      await watched.view('/invoices/INV-WAITS');
      await page.getByText('It is due. Payments are paused: it is charged once they go on.').waitFor();
      await open('Resume…');
      await confirm('Resume');
      await said('Payments go on');
      await expect.poll(() => page.getByText('the bank asked us to').count()).toBe(0);
    });

    test('is on every page: an app that does not answer, and nothing says that all is well', async () => {
      await calmDay();
      await watched.view('/');
      await page.getByText('Nothing needs you.').waitFor();
      await page.route('**/api/ops/{pause,overview}', (route) => route.abort('connectionreset'));
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await page.getByText('The app has not answered since').waitFor();
      expect(await page.getByText('Nothing needs you.').count()).toBe(0);
    });
  });

  test('an app that is away is asked as soon as the connection is back', async () => {
    const away = (route: Route) => route.abort('connectionreset');
    await watched.view('/invoices?status=parked');
    await page.route('**/api/ops/invoices?*', away);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText(/^As of /).waitFor();
    await page.unroute('**/api/ops/invoices?*', away);
    await page.evaluate("dispatchEvent(new Event('online'))");
    await expect.poll(() => page.getByText(/^As of /).count()).toBe(0);
  });

  test('an address that nobody can read shows a page, not a blank one', async () => {
    await watched.view('/');
    await page.evaluate(`{
      history.pushState(null, '', '/api/ops/ui/invoices/%E0%A4%A');
      dispatchEvent(new PopStateEvent('popstate'));
    }`);
    await page.getByText('There is no invoice with this id').waitFor();
  });

  describe('a file', () => {
    const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description';
    const row = (n: number) => `INV-FILE-${n},cus_File,10.00,EUR,2099-01-01T00:00:00Z,pm_card_visa,`;
    const figures = () => page.getByRole('list', { name: 'Rows by what became of them' });

    async function choose(content: Buffer): Promise<void> {
      const file = { name: 'december.csv', mimeType: 'text/csv', buffer: content };
      await page.locator('input[type=file]').setInputFiles(file);
    }

    test('names its sums before it is imported, and its refused rows by their place in it; they are mended and imported', async () => {
      const rows = Array.from({ length: 600 }, (_, n) => row(n + 1));
      rows[9] = '';
      rows[550] = 'INV-FILE-551,cus_File,1.999,EUR,2099-01-01T00:00:00Z,pm_card_visa,';
      rows[560] = `${row(559).replace('10.00', '11.00')}`;
      await watched.view('/import');
      await choose(Buffer.from([header, ...rows, ''].join('\n')));
      await page.getByText('599 rows, 5,981.00 EUR. 0 rows are due already.').waitFor();
      await page.getByText('1 row has no amount that can be read.').waitFor();
      await press('Import 599 rows');
      // The import goes on while another page is looked at.
      await page.getByRole('link', { name: 'Leases' }).click();
      await page.getByRole('heading', { name: 'Leases' }).waitFor();
      await page.getByRole('link', { name: 'Import', exact: true }).click();
      await expect
        .poll(() => figures().textContent())
        .toMatch(/Rejected\s*2\s*Stored\s*597\s*Known already\s*0$/);
      await page.getByRole('row', { name: /^552 INV-FILE-551 amount/ }).waitFor();
      await expect
        .poll(() => page.getByRole('table', { name: 'Rejected rows' }).textContent(), { timeout: 20_000 })
        .toContain('row 560');
      const [saved] = await Promise.all([page.waitForEvent('download'), press('Rejected rows as a file')]);
      const refused = readFileSync(await saved.path(), 'utf8');
      await choose(Buffer.from(refused.replace('1.999', '1.99').replace('INV-FILE-559', 'INV-FILE-561')));
      await press('Import 2 rows');
      await expect
        .poll(() => figures().textContent())
        .toMatch(/Rejected\s*0\s*Stored\s*2\s*Known already\s*0$/);
      expect(await invoice('INV-FILE-551')).toMatchObject({ amountMinor: 199 });
    });

    test('of Windows asks before its umlauts are read, and plain dates between semicolons are midnight UTC', async () => {
      await watched.view('/import');
      const names = 'id;customerId;amount;currency;dueAt;description';
      await choose(Buffer.from(`${names}\r\nINV-WIN;cus_Win;7.50;EUR;2099-01-31;Müller\r\n`, 'latin1'));
      await page.getByText('is not in UTF-8').waitFor();
      await page.getByText('Müller', { exact: true }).waitFor();
      await press('They are right');
      await page.getByText('1 due date has no time: midnight UTC is taken.').waitFor();
      await press('Import 1 row');
      await expect.poll(() => figures().textContent(), { timeout: 20_000 }).toMatch(/Stored\s*1/);
      expect(await invoice('INV-WIN')).toMatchObject({
        description: 'Müller',
        dueAt: '2099-01-31T00:00:00.000Z',
      });
    });
  });

  test('a file with a wrong header is not to be sent again', async () => {
    await watched.view('/import');
    await page.locator('input[type=file]').setInputFiles({
      name: 'wrong.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('number,customer\n1,cus_Rio\n'),
    });
    await press('Import 1 row');
    await page.getByText('put the file right, then choose it once more').waitFor();
    expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0);
  });
});
