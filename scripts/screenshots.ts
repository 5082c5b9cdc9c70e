// npm run screenshots: takes the pictures of the dashboard that the documents show, on a local stack filled with the traces of
// a working day. They change with every run (times, ids), so they are taken when a page has changed, not by a test.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dashboardStack } from '../test/browser/support/dashboardStack.ts';
import { openBrowser } from '../test/browser/support/openBrowser.ts';
import { heldLease, seed } from '../test/browser/support/seed.ts';
import { watchedPage } from '../test/browser/support/watchedPage.ts';

const folder = fileURLToPath(new URL('../docs/dashboard/', import.meta.url));

/** The pages in the order of the documents, each with a text that is there once its data is. */
const pages = [
  ['overview', '/', 'Recent runs'],
  ['invoices', '/invoices?status=parked', 'INV-2026-0042'],
  ['invoice', '/invoices/INV-2026-0052', 'Timeline'],
  ['search', '/search?text=cus_', 'Customers'],
  ['customer', '/customers/cus_RioVerdeCoffee', 'They owe'],
  ['import', '/import', 'Drop a CSV'],
  ['runs', '/runs', 'host-3'],
  ['run', '/runs/5f2d8c1e-0b5a-4c7e-9a3f-6d1b2c3a4e5f', 'taken over'],
  ['leases', '/leases', 'host-3'],
  ['messages', '/messages?tab=dead', 'a1c4-from-a-test-tool'],
  ['report', '/report', 'By day'],
  ['audit', '/audit', 'start run'],
] as const;

mkdirSync(folder, { recursive: true });
await using stack = await dashboardStack();
await seed(stack, { hostile: false });
await using _lease = await heldLease(stack);
const browser = await openBrowser();
try {
  await take('light', 1280);
  await take('dark', 1280, ['overview']);
  await take('light', 360, ['overview', 'invoice']);
} finally {
  await browser.close();
}

/** Takes the pages, or those named. */
async function take(scheme: 'light' | 'dark', width: number, only?: readonly string[]): Promise<void> {
  await using watched = await watchedPage(browser, stack, { scheme, width });
  for (const [name, path, text] of pages) {
    if (only !== undefined && !only.includes(name)) continue;
    await watched.view(path);
    await watched.page.getByText(text).first().waitFor();
    const suffix = [scheme === 'dark' ? '-dark' : '', width < 600 ? '-phone' : ''].join('');
    await watched.page.screenshot({ path: join(folder, `${name}${suffix}.png`) });
  }
}
