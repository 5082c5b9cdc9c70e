import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DashboardStack, dashboardStack } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { seed } from './support/seed.ts';
import { type WatchedPage, watchedPage } from './support/watchedPage.ts';

/** Lists are narrowed and sorted, and everything is found from one box; keys are typed one by one. */
describe.skipIf(!hasBrowser())('the dashboard, searched', { timeout: 180_000 }, () => {
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

  const link = (name: string) => page.getByRole('link', { name, exact: true }).first();
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);

  /** Types into the search box from wherever the focus is. */
  async function search(text: string, shortcut = '/'): Promise<void> {
    await page.keyboard.press(shortcut);
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Search', level: 1 }).waitFor();
  }

  describe('a list', () => {
    test('is narrowed to the days of a preset, which a chip shows and removes', async () => {
      await watched.view('/invoices?customer=cus_KitanoBooks');
      const choice = page.getByLabel('Due', { exact: true });
      await choice.selectOption('today');
      await expect.poll(() => page.url()).toContain(`dueAfter=${day(0)}&dueBefore=${day(1)}`);
      await page.getByText('No invoice matches these filters.').waitFor();
      await page.getByRole('button', { name: `Remove Due from: ${day(0)}` }).click();
      await expect.poll(() => choice.inputValue()).toBe('custom');
      await page.getByRole('button', { name: 'Remove all' }).click();
      await link('INV-2026-0050').waitFor();
      expect(new URL(page.url()).search).toBe('');
    });

    test('takes days of its own, typed after "custom" was chosen', async () => {
      await watched.view('/invoices');
      await page.getByLabel('Due', { exact: true }).selectOption('custom');
      await page.keyboard.type('01012026');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.url()).toContain('dueAfter=2026-01-01');
    });

    test('of last month is the report of its days', async () => {
      await watched.view('/report');
      await page.getByLabel('Days', { exact: true }).selectOption('last month');
      await page.getByText('Nothing moved in this time.').waitFor();
      expect(await page.getByLabel('To', { exact: true }).inputValue()).toMatch(/-(28|29|30|31)$/);
    });

    test.each([
      ['refunded', 'INV-2026-0050'],
      ['disputed', 'INV-2026-0052'],
      ['waits for retry', 'INV-2026-0048'],
    ])('shows what is %s', async (label, id) => {
      if (label === 'refunded') {
        const body = { amountMinor: 100, reason: 'a visit less' };
        await dashboard.ops(`invoices/${id}/refund`, { method: 'POST', body, key: 'refund of the list' });
      }
      await watched.view('/invoices');
      await page.getByLabel('Only').selectOption({ label });
      await page.getByText(/^1 invoice: [\d,.]+ [A-Z]{3}\./).waitFor();
      await link(id).waitFor();
      expect(await page.getByRole('row').count()).toBe(2);
    });

    test('is sorted by the due date, and offers that only where an index serves it', async () => {
      await watched.view('/invoices');
      const ids = () => page.locator('tbody tr td:nth-child(2)').allTextContents();
      await page.getByRole('button', { name: 'Due', exact: true }).click();
      await expect.poll(async () => (await ids())[0], { timeout: 20_000 }).toBe('INV-2026-0043');
      await page.getByRole('button', { name: 'Due ↑' }).click();
      await expect.poll(async () => (await ids())[0], { timeout: 20_000 }).toBe('INV-2026-0053');
      expect(await page.getByRole('columnheader', { name: 'Due' }).getAttribute('aria-sort')).toBe(
        'descending',
      );
      await page.getByLabel('Status').selectOption('parked');
      await link('INV-2026-0042').waitFor();
      expect(await page.getByRole('button', { name: 'Due', exact: true }).count()).toBe(0);
    });

    test('shows its rows before its count and sums, which a filter has of its own', async () => {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route('**/api/ops/totals?*', async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`${dashboard.address}/api/ops/ui/invoices?status=parked`);
      await link('INV-2026-0042').waitFor();
      await page.getByText('Counting …').waitFor();
      release();
      await page.getByText(/^3 invoices: .*310\.84 BRL/).waitFor();
    });

    test('says "more than" where an exact count costs too much, and what a dear answer cost', async () => {
      await page.route('**/api/ops/totals*', (route) =>
        route.fulfill({ json: { count: 10_000, isExact: false, sums: [], requestUnits: 532.1 } }),
      );
      await watched.view('/invoices');
      await page.getByText('More than 10,000 invoices. This cost the database 532 request units.').waitFor();
    });
  });

  describe('the search box', () => {
    test('opens an invoice by its whole id, in small letters, from any page', async () => {
      await watched.view('/leases');
      await page.keyboard.press('Control+k');
      await page.keyboard.type('inv-2026-0050\n');
      await page.getByRole('heading', { name: 'INV-2026-0050' }).waitFor();
    });

    test.each([
      ['inv-2026-005', 'Invoices whose id begins so', 'INV-2026-0051'],
      ['CUS_KITANO', 'Customers', 'cus_KitanoBooks'],
      ['renew', 'Invoices with such words in the description', 'INV-2026-0042'],
      ['11 doma', 'Invoices with such words in the description', 'INV-2026-0042'],
      ['310.84', 'Invoices of this amount', 'INV-2026-0042'],
      ['1,250.00 eur', 'Invoices of this amount', 'INV-2026-0044'],
    ])('finds "%s" among: %s', async (text, group, name) => {
      await watched.view('/');
      await search(text);
      const found = page.getByRole('region', { name: group });
      await found.getByRole('link', { name, exact: true }).first().waitFor();
    });

    test('finds a payment by the beginning of its id', async () => {
      const { payment } = (await (await dashboard.ops('invoices/INV-2026-0051')).json()) as {
        payment: { id: string };
      };
      await watched.view('/');
      await search(payment.id.slice(0, -2));
      const found = page.getByRole('region', { name: 'Invoices whose payment id begins so' });
      await found.getByRole('link', { name: 'INV-2026-0051' }).waitFor();
    });

    test('says that it found nothing, and what can be found; a customer leads to their invoices', async () => {
      await watched.view('/');
      await search('no such thing');
      await page.getByText('Nothing begins with “no such thing”.').waitFor();
      await search('cus_rio');
      await link('cus_RioVerdeCoffee').click();
      await link('INV-2026-0048').waitFor();
    });

    test('is not opened by a slash that is typed into a field', async () => {
      await watched.view('/invoices');
      await page.getByLabel('Customer').focus();
      await page.keyboard.type('a/b');
      expect(await page.getByLabel('Customer').inputValue()).toBe('a/b');
    });

    test('says what a dear search has cost', async () => {
      await page.route('**/api/ops/search?*', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ json: { ...((await answer.json()) as object), requestUnits: 612.4 } });
      });
      await watched.view('/');
      await search('cus_');
      await page.getByText('This cost the database 612 request units.').waitFor();
    });
  });
});
