import { readFileSync } from 'node:fs';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DashboardStack, dashboardStack } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { type WatchedPage, watchedPage } from './support/watchedPage.ts';

const header = 'id,customerId,amount,currency,dueAt';

/** An import is a thing of its own: it has a record, a page and refused rows, whatever becomes of the tab that sends it. */
describe.skipIf(!hasBrowser())('an import in the dashboard', { timeout: 180_000 }, () => {
  const stack = new AsyncDisposableStack();
  let dashboard: DashboardStack;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    dashboard = stack.use(await dashboardStack());
    browser = await openBrowser();
    stack.defer(() => browser.close());
  }, 240_000);
  afterAll(() => stack.disposeAsync());
  beforeEach(async () => {
    watched = await watchedPage(browser, dashboard);
    ({ page } = watched);
    await watched.view('/import');
    return () => watched[Symbol.asyncDispose]();
  });

  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  const figures = () => page.getByRole('list', { name: 'Rows by what became of them' }).textContent();
  const line = (id: string, amount = '10.00') => `${id},cus_File,${amount},EUR,2099-01-01T00:00:00Z`;

  async function choose(name: string, lines: readonly string[]): Promise<void> {
    const buffer = Buffer.from([...lines, ''].join('\n'));
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer });
  }
  async function recordsOf(name: string): Promise<unknown[]> {
    const { imports } = (await (await dashboard.ops('imports')).json()) as {
      imports: { fileName: string | null }[];
    };
    return imports.filter(({ fileName }) => fileName === name);
  }
  /** Lets the app take the requests for parts, and drops the answer to one of them. */
  async function loseAnswer(part: number): Promise<void> {
    let isLost = false;
    await page.route(`**/api/ops/invoices?*part=${part}*`, async (route: Route) => {
      if (isLost) return route.continue();
      isLost = true;
      await route.fetch();
      return route.abort('connectionreset');
    });
  }

  test('of which an answer is lost goes on where it was, as one record with exact counts', async () => {
    await loseAnswer(1);
    await choose('lost.csv', [header, ...Array.from({ length: 1_200 }, (_, n) => line(`LOST-${n}`))]);
    await press('Import 1,200 rows');
    await page.getByText('Send the rest again: it goes on where it was.').waitFor();
    await press('Send again');
    await expect.poll(figures).toMatch(/Rejected\s*0\s*Stored\s*1,200\s*Known already\s*0$/);
    expect(await recordsOf('lost.csv')).toMatchObject([
      { status: 'completed', rows: 1_200, created: 1_200, duplicates: 0, by: 'function key' },
    ]);
  });

  test('is found again in another tab, with its refused rows as they were; mended, they are imported', async () => {
    const bad = line('AGAIN-501', '1.999');
    const lines = Array.from({ length: 600 }, (_, n) => (n === 500 ? bad : line(`AGAIN-${n + 1}`)));
    await choose('again.csv', [header, '', ...lines]);
    await press('Import 600 rows');
    await expect.poll(figures).toMatch(/Rejected\s*1\s*Stored\s*599/);

    await using other = await watchedPage(browser, dashboard);
    await other.view('/import');
    await other.page.getByRole('link', { name: 'again.csv' }).click();
    await other.page.getByRole('row', { name: /^503 AGAIN-501 amount/ }).waitFor();
    await other.page.getByText('Stored: 5,990.00 EUR').waitFor();
    const [saved] = await Promise.all([
      other.page.waitForEvent('download'),
      other.page.getByRole('button', { name: 'Rejected rows as a file' }).click(),
    ]);
    const refused = readFileSync(await saved.path(), 'utf8')
      .replace('\uFEFF', '')
      .split('\r\n');
    expect(refused[0]).toBe(`${header},error`);
    expect(refused[1]).toContain(`${bad},`);

    await choose('mended.csv', [refused[0] ?? '', (refused[1] ?? '').replace('1.999', '1.99')]);
    await press('Import 1 row');
    await expect.poll(figures).toMatch(/Rejected\s*0\s*Stored\s*1/);
  });

  test('asks before its tab is closed, and only while it is sent', async () => {
    const asks = () =>
      page.evaluate(`{
        const event = new Event('beforeunload', { cancelable: true });
        dispatchEvent(event);
        event.defaultPrevented;
      }`);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/ops/invoices?*part=0*', async (route) => {
      await held;
      await route.continue();
    });
    await choose('closing.csv', [header, line('CLOSING-1')]);
    expect(await asks()).toBe(false);
    await press('Import 1 row');
    await page.getByText('0 of 1 row of closing.csv').waitFor();
    await expect.poll(asks).toBe(true);
    release();
    await expect.poll(figures).toMatch(/Stored\s*1/);
    expect(await asks()).toBe(false);
  });

  test('of JSON comes back as JSON', async () => {
    const item = { id: 'JSON/1', customerId: 'cus', amountMinor: 5, currency: 'EUR', dueAt: '2099-01-01' };
    const buffer = Buffer.from(JSON.stringify([item]));
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer });
    await press('Import 1 row');
    await page.getByRole('row', { name: /^1 JSON\/1 / }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent('download'), press('Rejected rows as a file')]);
    const [refused] = JSON.parse(readFileSync(await saved.path(), 'utf8')) as object[];
    expect(refused).toMatchObject({ ...item, error: expect.stringContaining('Cosmos') });
  });
});
