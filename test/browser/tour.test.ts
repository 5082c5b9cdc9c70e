import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardStack, dashboardStack } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { watchedPage } from './support/watchedPage.ts';

/** With SCREENSHOTS=1 the pictures of docs/tour.md are taken on the way. */
const pictures = fileURLToPath(new URL('../../docs/tour/', import.meta.url));

const file = [
  'id,customerId,amount,currency,dueAt,paymentMethod,description',
  'INV-2026-0101,cus_AtelierMoreau,1250.00,EUR,2026-11-01T09:00:00Z,pm_card_visa,"Website care, November"',
  'INV-2026-0102,cus_HarborStreetDental,255.02,USD,2026-11-02T09:00:00Z,pm_card_visa,Check-up plan',
  'INV-2026-0103,cus_RioVerdeCoffee,310.84,BRL,2026-11-02T09:00:00Z,pm_card_mastercard,Domain renewal',
  'INV-2026-0104,cus_KitanoBooks,48000,JPY,2026-11-03T09:00:00Z,pm_card_chargeDeclinedExpiredCard,Shelf rental',
  'INV-2026-0105,cus_MapleRidgeVet,19.999,CAD,2026-11-03T09:00:00Z,pm_card_visa,Vaccines',
].join('\n');

describe.skipIf(!hasBrowser())('the way of a new user', () => {
  const stack = new AsyncDisposableStack();
  let dashboard: DashboardStack;
  let browser: Browser;
  beforeAll(async () => {
    dashboard = stack.use(await dashboardStack());
    browser = await openBrowser();
    stack.defer(() => browser.close());
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  test('import a file, watch it being paid, find out why one invoice is unpaid, and fix it', async () => {
    await using watched = await watchedPage(browser, dashboard);
    const { page } = watched;
    let pictureNumber = 0;
    async function picture(name: string): Promise<void> {
      pictureNumber++;
      if (process.env.SCREENSHOTS !== '1') return;
      mkdirSync(pictures, { recursive: true });
      await page.screenshot({ path: join(pictures, `${pictureNumber}-${name}.png`) });
    }
    const button = (name: string) => page.getByRole('button', { name });
    const dialog = page.getByRole('dialog');

    await watched.view('/');
    await page.getByText('No invoices yet.').waitFor();
    await picture('empty');
    await page.getByRole('link', { name: 'Import some' }).click();
    const buffer = Buffer.from(file);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'november.csv', mimeType: 'text/csv', buffer });
    await button('Import 5 rows').click();
    await page.getByText('expected at most 2 decimals for CAD').waitFor();
    await picture('imported');

    await button('Start run…').click();
    await dialog.getByRole('button', { name: 'Start run' }).click();
    await page.getByText('completed').first().waitFor();
    await picture('run');
    await page.getByRole('link', { name: 'Overview' }).click();
    const paid = page.getByRole('listitem').filter({ hasText: /^Paid\d/ });
    await expect.poll(() => paid.textContent(), { timeout: 60_000 }).toContain('3');
    await picture('paid');

    await page
      .getByRole('listitem')
      .filter({ hasText: /^Declined\d/ })
      .getByRole('link')
      .click();
    await page.getByRole('link', { name: 'INV-2026-0104' }).click();
    await page.getByText('expired_card: Your card has expired.').first().waitFor();
    await picture('declined');
    await button('Retry…').click();
    await dialog.getByLabel('Another payment method').fill('pm_card_visa');
    await dialog.getByLabel('Reason').fill('the customer sent a new card');
    await picture('retry');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('It is due; the next run charges it.').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await button('Start run…').click();
    await dialog.getByRole('button', { name: 'Start run' }).click();
    await page.getByRole('heading', { name: 'Run', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill('INV-2026-0104');
    await button('Find').click();
    await page.getByText('It is paid.').waitFor();
    await picture('fixed');
    expect(pictureNumber).toBe(7);
  }, 120_000);
});
