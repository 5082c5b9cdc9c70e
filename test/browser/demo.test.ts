import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openDemo } from '../../local/demo/main.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { noSignals } from '../support/signals.ts';
import { animatedPng } from './support/animatedPng.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { watchedPage } from './support/watchedPage.ts';

/** With SCREENSHOTS=1 the picture of the README is taken on the way. */
const pictureFile = fileURLToPath(new URL('../../docs/demo/walk.png', import.meta.url));
const isRecorded = process.env.SCREENSHOTS === '1';

const hostsOf = z.object({ hosts: z.array(z.object({ address: z.string() })) });
const versionOf = z.object({ info: z.object({ version: z.string() }) });

function partsOf(page: Page) {
  const figure = async (name: string) => {
    const shown = page.locator('.demo-top .figure').filter({ has: page.getByText(name, { exact: true }) });
    return Number((await shown.locator('dd').textContent())?.replaceAll(',', ''));
  };
  return {
    button: (name: string | RegExp) => page.getByRole('button', { name }),
    figure,
    /** Waits until so many more invoices are paid. */
    paidMore: async (count: number) => {
      const before = await figure('paid');
      for (let waited = 0; (await figure('paid')) < before + count; waited++) {
        expect(waited, `paid: ${await figure('paid')}, at first ${before}`).toBeLessThan(120);
        await delay(500);
      }
    },
  };
}

test('the recording fits the README', () => {
  expect(statSync(pictureFile).size).toBeLessThanOrEqual(1_500_000);
});

describe.skipIf(!hasBrowser() || noSignals)('the demo', () => {
  const stack = new AsyncDisposableStack();
  let demo: { address: string };
  let browser: Browser;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'payonce-demo-'));
    stack.defer(() => removeFolder(folder));
    demo = stack.use(await openDemo(folder));
    browser = await openBrowser();
    stack.defer(() => browser.close());
  }, 120_000);
  afterAll(() => stack.disposeAsync(), 60_000);

  test('nobody is charged twice whatever breaks, until all three guards are gone', async () => {
    await using watched = await watchedPage(browser, demo, { signedOut: true });
    const { page } = watched;
    const frames: { png: Buffer; ms: number }[] = [];
    const picture = async (ms = 1_500) => {
      if (isRecorded) frames.push({ png: await page.screenshot(), ms });
    };
    // The README shows it at this width.
    if (isRecorded) await page.setViewportSize({ width: 900, height: 560 });
    await page.goto(demo.address);
    const { button, figure, paidMore } = partsOf(page);
    await paidMore(10);
    await picture();

    await button('Kill: host-1').click();
    await page.getByText(/^host-1 gone/).waitFor();
    await picture();
    await button('Freeze for 60 s: host-2').click();
    await page.getByText(/^host-2 frozen/).waitFor();
    await picture();
    await paidMore(10);
    await picture();
    await button('Provider loses answers').click();
    await page.getByText('Provider loses answers: begins').waitFor();
    await picture();
    await paidMore(10);
    await picture();
    expect(await figure('charged twice')).toBe(0);
    await button(/^Timeline of/)
      .first()
      .click();
    const story = page.getByRole('dialog');
    await story.getByText('Provider loses answers: begins').waitFor();
    await story.getByRole('button', { name: 'Close' }).click();
    await button('Provider loses answers').click();

    await button('All three off').click();
    await button('All three on').waitFor();
    await picture();
    await expect.poll(() => figure('charged twice'), { timeout: 60_000 }).toBeGreaterThan(0);
    await page.evaluate('scrollTo(0, 0)');
    const charged = page.getByRole('region', { name: 'Charged twice' });
    await charged.waitFor();
    await picture(2_000);
    expect(await charged.getByText('under the key').count()).toBeGreaterThan(1);
    await charged.getByRole('button').first().click();
    await expect
      .poll(() => story.getByText('charged under the key').count(), { timeout: 30_000 })
      .toBeGreaterThan(1);
    for (const part of ['imported', 'claimed', 'message', 'call, key', 'answer: succeeded', 'paid'])
      await story.getByText(part).first().waitFor();
    await picture(4_000);
    expect(await watched.accessibility()).toEqual([]);
    if (isRecorded) writeFileSync(pictureFile, animatedPng(frames));

    await story.getByRole('button', { name: 'Close' }).click();
    await button('Reset').click();
    await expect.poll(() => figure('charged twice'), { timeout: 60_000 }).toBe(0);
    await button('Lease: on').waitFor({ timeout: 60_000 });
    await paidMore(5);
    expect(await figure('charged twice')).toBe(0);
    expect(watched.complaints).toEqual([]);
  }, 240_000);

  test('another version replaces the hosts one after the other, and nobody is charged twice', async () => {
    await using watched = await watchedPage(browser, demo, { signedOut: true });
    const { page } = watched;
    await page.goto(demo.address);
    const { button, figure, paidMore } = partsOf(page);
    /** The version that each host itself names. */
    const versions = async () => {
      const { hosts } = hostsOf.parse(await (await fetch(`${demo.address}/state`)).json());
      return Promise.all(
        hosts.map(async ({ address }) => {
          const described = await fetch(`${address}/api/ops/openapi.json`);
          return versionOf.parse(await described.json()).info.version;
        }),
      );
    };
    await expect.poll(() => page.getByText(/^host-\d up$/).count(), { timeout: 60_000 }).toBe(3);
    const [now = ''] = await versions();
    const next = now.replace(/\d+$/, (patch) => `${Number(patch) + 1}`);
    await button('Deploy another version').click();
    await page.getByText(`Deployment of ${next}: begins`).waitFor();
    await page.getByText(`Deployment of ${next}: ends`).waitFor({ timeout: 180_000 });
    expect(await versions()).toEqual([next, next, next]);
    expect(await page.getByText(`Version ${next}`).count()).toBe(3);
    await paidMore(10);
    expect(await figure('charged twice')).toBe(0);
    expect(watched.complaints).toEqual([]);
  }, 300_000);

  test.each([
    { width: 1280, scheme: 'light' },
    { width: 1280, scheme: 'dark' },
    { width: 360, scheme: 'light' },
    { width: 360, scheme: 'dark' },
  ] as const)('at $width px in $scheme: accessible, quiet, no wider than the window', async (look) => {
    await using watched = await watchedPage(browser, demo, { ...look, signedOut: true });
    const { page } = watched;
    await page.goto(demo.address);
    await page
      .getByRole('button', { name: /^Timeline of/ })
      .first()
      .waitFor();
    await page.getByText('What each of these breaks').click();
    expect(await watched.accessibility()).toEqual([]);
    expect(await watched.overflow()).toBeLessThanOrEqual(0);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const top = await page.locator('.demo-top').boundingBox();
    expect(top?.y).toBe(0);
    expect(watched.complaints).toEqual([]);
  });
});
