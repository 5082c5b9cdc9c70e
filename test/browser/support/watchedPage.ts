import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { type DashboardStack, key } from './dashboardStack.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const found = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      nodes: z.array(z.object({ html: z.string() })),
    }),
  ),
});

export interface Look {
  width?: number;
  scheme?: 'light' | 'dark';
  /** As the browser's own zoom: 2 leaves half of the width. */
  zoom?: number;
  /** Without the key: the page asks for it. */
  signedOut?: boolean;
}

/** A page of the dashboard, and everything that must not happen on it. */
export interface WatchedPage extends AsyncDisposable {
  page: Page;
  /** Goes to a view and waits until it shows its data. */
  view(path: string): Promise<void>;
  /** Waits for a text. @throws with all that the page shows instead, after half a minute */
  shows(text: string): Promise<void>;
  /** Errors and warnings of the console, exceptions, dialogs of scripts, and requests to other origins. */
  complaints: string[];
  /** Findings of axe: rule and element. */
  accessibility(): Promise<string[]>;
  /** By how many pixels the page is wider than the window. */
  overflow(): Promise<number>;
}

export async function watchedPage(
  browser: Browser,
  { address }: Pick<DashboardStack, 'address'>,
  { width = 1280, scheme = 'light', zoom = 1, signedOut = false }: Look = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: width / zoom, height: 900 / zoom },
    deviceScaleFactor: zoom,
    colorScheme: scheme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    acceptDownloads: true,
  });
  if (!signedOut) await context.addInitScript((given) => sessionStorage.setItem('payonce-key', given), key);
  // The default of 30 s is too short beside other tests: a bulk run of 2 s took 37 s on a machine with six times as much to do.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()))
      complaints.push(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${address}/`) && !url.startsWith('blob:')) complaints.push(`a request to ${url}`);
  });
  return {
    page,
    complaints,
    async view(path) {
      await page.goto(`${address}/api/ops/ui${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
    },
    async shows(text) {
      try {
        await page.getByText(text).first().waitFor();
      } catch (error) {
        const shown = await page.locator('body').textContent();
        throw new Error(`${page.url()} does not show "${text}", but:\n${shown}`, { cause: error });
      }
    },
    async accessibility() {
      await page.evaluate(axe);
      const { violations } = found.parse(await page.evaluate('axe.run()'));
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
    },
    overflow: () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'),
    [Symbol.asyncDispose]: () => context.close(),
  };
}
