import { readFileSync } from 'node:fs';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { databaseName } from '../../src/platform/cosmosContainers.ts';
import { problem } from '../../src/platform/problem.ts';
import { type DashboardStack, dashboardStack, key } from './support/dashboardStack.ts';
import { hasBrowser, openBrowser } from './support/openBrowser.ts';
import { heldLease, parkMessages, seed, untilStatus } from './support/seed.ts';
import { type WatchedPage, watchedPage } from './support/watchedPage.ts';

/** Each action once, in a browser, against the app and the local cloud. */
describe.skipIf(!hasBrowser())('what the dashboard can do', { timeout: 180_000 }, () => {
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
    return async () => {
      await watched[Symbol.asyncDispose]();
    };
  });

  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click();
  const dialog = () => page.getByRole('dialog');
  const confirm = (name: string | RegExp) => dialog().getByRole('button', { name }).click();
  const said = async (text: string | RegExp) => {
    try {
      await page.getByRole('status').getByText(text).waitFor();
    } catch (error) {
      const shown = (await dialog().count()) > 0 ? dialog() : page.locator('body');
      throw new Error(`the page does not say ${text}, but:\n${await shown.textContent()}`, { cause: error });
    }
  };

  async function invoice(id: string): Promise<Record<string, unknown>> {
    return (await (await dashboard.ops(`invoices/${id}`)).json()) as Record<string, unknown>;
  }
  /** The view of a run, once it has ended. */
  async function untilCompleted(): Promise<void> {
    await page.getByRole('heading', { level: 1, name: /^(Run|(Void|Redrive|Discard) of .*)$/ }).waitFor();
    await page.getByText('completed').first().waitFor();
  }
  async function parked(): Promise<number> {
    return ((await (await dashboard.ops('outbox?status=parked')).json()) as { total: number }).total;
  }
  async function lastAudited(): Promise<Record<string, unknown> | undefined> {
    const { records } = (await (await dashboard.ops('audit')).json()) as {
      records: Record<string, unknown>[];
    };
    return records[0];
  }

  test('the key: a wrong one is refused, the right one opens the view that the URL names', async () => {
    await using stranger = await watchedPage(browser, dashboard, { signedOut: true });
    await stranger.view('/leases');
    await stranger.page.getByLabel('Function key').fill('wrong');
    await stranger.page.getByRole('button', { name: 'Sign in' }).click();
    await stranger.page.getByText('The app does not accept this key.').waitFor();
    await stranger.page.getByLabel('Function key').fill(key);
    await stranger.page.getByRole('button', { name: 'Sign in' }).click();
    await stranger.page.getByRole('heading', { name: 'Leases' }).waitFor();
    expect(stranger.page.url()).not.toContain(key);
    // Another tab gets the key from this one.
    const other = await stranger.page.context().newPage();
    await other.goto(`${dashboard.address}/api/ops/ui/runs`);
    await other.getByRole('heading', { name: 'Runs' }).waitFor();
    await stranger.page.getByRole('button', { name: 'Forget key' }).click();
    await stranger.page.getByLabel('Function key').waitFor();
  });

  test('with a sign-in of the platform, a refused key is told apart from one that was never looked at', async () => {
    await using stranger = await watchedPage(browser, dashboard, { signedOut: true });
    const elsewhere = { status: 302, headers: { location: 'https://login.example.com/' } };
    await stranger.page.route('**/.auth/login/aad', (route) => route.fulfill(elsewhere));
    await stranger.page.route('**/api/ops/me', (route) => route.fulfill({ status: 401 }));
    await stranger.view('/leases');
    await stranger.page.getByRole('link', { name: 'Sign in with Microsoft' }).waitFor();
    await stranger.page.getByLabel('Function key').fill(key);
    await stranger.page.getByRole('button', { name: 'Sign in' }).click();
    await stranger.page.getByText('Sign in with Microsoft first').waitFor();
  });

  test('search by id, and a shared link with filters', async () => {
    await watched.view('/');
    await page.getByRole('searchbox', { name: 'Search' }).fill('INV-2026-0050');
    await press('Find');
    await page.getByRole('heading', { name: 'INV-2026-0050' }).waitFor();
    await watched.view('/invoices?status=declined&currency=usd');
    await page.getByRole('link', { name: 'INV-2026-0045' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByLabel('Status').selectOption('paid');
    await page.getByRole('link', { name: 'INV-2026-0050' }).waitFor();
    expect(page.url()).toContain('status=paid');
    await page.goBack();
    await page.getByRole('link', { name: 'INV-2026-0045' }).waitFor();
  });

  test('retry an invoice with another payment method: the next run pays it', async () => {
    await watched.view('/invoices/INV-2026-0045');
    await page.getByText('The bank declined it for good').waitFor();
    await press('Retry…');
    await dialog().getByLabel('Another payment method').fill('pm_card_visa');
    await dialog().getByLabel('Reason').fill('the customer sent a new card');
    await confirm('Retry');
    await said(/INV-2026-0045 is due again/);
    expect(await lastAudited()).toMatchObject({
      action: 'retry invoice',
      target: 'INV-2026-0045',
      detail: { reason: 'the customer sent a new card', paymentMethod: 'pm_card_visa' },
    });
    await watched.view('/runs');
    await press('Start run…');
    await confirm('Start run');
    await page.getByRole('heading', { name: 'Run', exact: true }).waitFor();
    await untilStatus(dashboard, 'INV-2026-0045', 'paid');
  });

  test('refund a part: more than is left is refused before anything is sent', async () => {
    await watched.view('/invoices/INV-2026-0050');
    await press('Refund…');
    await dialog().getByLabel('Amount in USD').fill('255.03');
    await dialog().getByLabel('Reason').fill('one visit was cancelled');
    await confirm('Refund');
    await dialog().getByText('no more than what is left').waitFor();
    await dialog().getByLabel('Amount in USD').fill('55.02');
    await confirm('Refund');
    await said('A refund of 55.02 USD is ordered.');
    expect(await invoice('INV-2026-0050')).toMatchObject({ reversals: { refundedMinor: 5_502 } });
  });

  test('a refund that somebody may have made by hand: a person says that this is it', async () => {
    const id = 'INV-2026-0052';
    const container = dashboard.cloud.cosmosClient.database(databaseName).container('invoices');
    const { resources } = await container.items
      .query<{ shard: string; currency: string }>(`SELECT c.shard, c.currency FROM c WHERE c.id = '${id}'`)
      .fetchAll();
    const shard = resources[0]?.shard ?? '';
    const at = '2026-01-01T12:00:00.000Z';
    const asked = { id: 'rf_x', amountMinor: 400, at, requestKey: 'key-of-ada', mayBe: 're_1' };
    const byHand = { id: 're_1', providerId: 're_1', amountMinor: 400, at };
    const refunds = [
      { ...asked, status: 'requested' as const },
      { ...byHand, status: 'succeeded' as const },
    ];
    await container.item(id, shard).patch([
      { op: 'set', path: '/status', value: 'paid' },
      { op: 'set', path: '/reversals', value: reversalsOf(refunds, []) },
    ]);
    await watched.view('/invoices?status=paid');
    await watched.view(`/invoices/${id}`);
    await page.getByText('key-of-ada').waitFor();
    await press('This is it…');
    await dialog().getByLabel('Reason').fill('Bob has made it');
    await confirm('This is it');
    await said('The refund is done.');
    const { reversals } = await invoice(id);
    expect(reversals).toMatchObject({
      refunds: [{ id: 'rf_x', providerId: 're_1', status: 'succeeded' }],
      refundedMinor: 400,
    });
  });

  test('void an invoice: the reason is required, Cancel changes nothing', async () => {
    await watched.view('/invoices/INV-2026-0053');
    await press('Void…');
    await expect.poll(() => page.evaluate('document.activeElement.labels?.[0]?.textContent')).toBe('Reason');
    await confirm('Void');
    await dialog().getByText('Say why').waitFor();
    await confirm('Cancel');
    expect(await invoice('INV-2026-0053')).toMatchObject({ status: 'pending' });
    await press('Void…');
    await dialog().getByLabel('Reason').fill('sent by mistake');
    await confirm('Void');
    await said('INV-2026-0053 is void.');
    expect(await invoice('INV-2026-0053')).toMatchObject({ status: 'voided' });
  });

  test('undo a void, with a reason; one of an invoice that was claimed cannot be undone, and says why', async () => {
    await watched.view('/invoices/INV-2026-0053');
    await press('Undo void…');
    await confirm('Undo the void');
    await dialog().getByText('Say why').waitFor();
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('it was the wrong one\n');
    await said('INV-2026-0053 is to be charged again.');
    await page.getByText('It is not due yet.').waitFor();
    expect(await invoice('INV-2026-0053')).toMatchObject({ status: 'pending', reason: null });
    expect(await lastAudited()).toMatchObject({
      action: 'undo void',
      target: 'INV-2026-0053',
      detail: { reason: 'it was the wrong one', from: 'voided' },
    });

    await watched.view('/invoices/INV-2026-0047');
    await press('Void…');
    await dialog().getByLabel('Reason').focus();
    await page.keyboard.type('stolen card\n');
    await said('INV-2026-0047 is void.');
    const undo = page.getByRole('button', { name: 'Undo void…' });
    await undo.waitFor();
    expect(await undo.getAttribute('title')).toContain('Import it under another id to charge it.');
    await undo.click({ force: true });
    expect(await dialog().count()).toBe(0);
  });

  test('a note stays in the timeline as plain text, and in the export', async () => {
    const text = `she rang: <b>send it again</b>`;
    await watched.view('/invoices/INV-2026-0053');
    await press('Note…');
    await confirm('Add note');
    await dialog().getByText('Write something.').waitFor();
    await dialog().getByLabel('Note').focus();
    await page.keyboard.type(`${text}\n`);
    await said('The note is in the timeline of INV-2026-0053.');
    const entry = page.getByRole('listitem').filter({ hasText: text });
    await entry.getByText('by function key').waitFor();
    const { timeline } = (await invoice('INV-2026-0053')) as { timeline: object[] };
    expect(timeline.at(-1)).toMatchObject({ what: 'note', by: 'function key', text });
    const csv = await (await dashboard.ops('invoices.csv?status=pending')).text();
    expect(csv).toContain(`function key: ${text}`);
  });

  test('move a due date', async () => {
    await watched.view('/invoices/INV-2026-0054');
    await press('Due date…');
    await dialog().getByLabel('Due (UTC)').fill('2099-05-09T10:00');
    await confirm('Move');
    await said('The due date of INV-2026-0054 is moved.');
    expect(await invoice('INV-2026-0054')).toMatchObject({ dueAt: '2099-05-09T10:00:00.000Z' });
  });

  test('an action that the state does not allow says why', async () => {
    await watched.view('/invoices/INV-2026-0051');
    const retry = page.getByRole('button', { name: 'Retry…' });
    expect(await retry.getAttribute('title')).toContain('It is paid: there is nothing to retry.');
    await retry.click({ force: true });
    expect(await dialog().count()).toBe(0);
  });

  test('retry several invoices: their count and sums come first', async () => {
    await watched.view('/invoices?status=parked');
    await page.getByLabel('Select INV-2026-0042').check();
    await page.getByLabel('Select INV-2026-0043').check();
    await page.getByText('2 invoices selected: 310.84 BRL + 255.02 USD').waitFor();
    await press('Retry…');
    await dialog().getByRole('heading', { name: 'Retry 2 invoices (310.84 BRL + 255.02 USD)?' }).waitFor();
    await dialog().getByLabel('Reason').fill('the card ids are right now');
    await confirm('Retry 2 invoices');
    await said('2 invoices put back to pending.');
    expect(await invoice('INV-2026-0042')).toMatchObject({ status: 'pending' });
  });

  test('void all invoices that match, on every page of the list: counted first, with their number typed', async () => {
    const invoices = Array.from({ length: 120 }, (_, n) => ({
      id: `INV-TWICE-${n}`,
      customerId: 'cus_ImportedTwice',
      amountMinor: 1_000,
      currency: 'EUR',
      dueAt: '2099-01-01T00:00:00Z',
      paymentMethod: 'pm_card_visa',
    }));
    await dashboard.ops('invoices', { method: 'POST', body: invoices });
    await watched.view('/invoices?status=pending&customer=cus_ImportedTwice');
    await page.getByLabel('Select INV-TWICE-').first().check();
    await press('Select all that match');
    await press('Void…');
    await dialog().getByRole('heading', { name: 'Void 120 invoices (1,200.00 EUR)?' }).waitFor();
    await dialog().getByLabel('Reason').fill('this file was imported twice');
    await dialog().getByLabel('Type 120').fill('120');
    await confirm('Void');
    await untilCompleted();
    const left = await dashboard.ops('invoices?status=pending&customer=cus_ImportedTwice');
    expect(await left.json()).toMatchObject({ invoices: [] });
    expect(await invoice('INV-TWICE-119')).toMatchObject({ status: 'voided' });
  });

  test('preview a run, and start one; one that has ended cannot be cancelled', async () => {
    const due = { id: 'INV-PREVIEW', customerId: 'cus_1', amountMinor: 77_777, currency: 'CHF' };
    const body = [{ ...due, dueAt: '2026-01-01T00:00:00Z', paymentMethod: 'pm_card_visa' }];
    await dashboard.ops('invoices', { method: 'POST', body });
    await watched.view('/runs');
    await press('Preview…');
    await confirm('Preview');
    await page.getByText('Would claim').waitFor();
    await page.getByText('777.77 CHF').waitFor();
    await watched.view('/');
    await press('Start run…');
    await confirm('Start run');
    await untilCompleted();
    // Its groups have completed before the run itself.
    await page.getByRole('button', { name: 'Cancel…' }).and(page.getByTitle('It is completed.')).waitFor();
  });

  test('cancel a run that waits for a lease', async () => {
    await using _lease = await heldLease(dashboard, 'process-invoices', '0');
    await watched.view('/runs');
    await press('Start run…');
    await confirm('Start run');
    await page.getByRole('heading', { name: 'Run', exact: true }).waitFor();
    await page.getByText('running').first().waitFor();
    const resume = page.getByRole('button', { name: 'Resume…' });
    expect(await resume.getAttribute('title')).toBe('It is still running.');
    await press('Cancel…');
    await dialog().getByLabel('Reason').fill('wrong day');
    await confirm('Cancel the run');
    await said('The run is cancelled.');
    await page.getByText('cancelled by function key: wrong day').waitFor();
    expect(await lastAudited()).toMatchObject({ action: 'cancel run', detail: { reason: 'wrong day' } });
  });

  test('resume a run that has failed: a new one does the group that was lost', async () => {
    await watched.view('/runs/5f2d8c1e-0b5a-4c7e-9a3f-6d1b2c3a4e5f');
    await press('Resume…');
    await dialog().getByRole('heading', { name: 'Resume 1 unfinished group?' }).waitFor();
    await confirm('Resume');
    await said('A new run does the rest.');
    await untilCompleted();
    expect(page.url()).not.toContain('5f2d8c1e');
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('row', { name: /^2 completed/ }).waitFor();
  });

  test('release a lease by typing its key and a reason', async () => {
    await using _lease = await heldLease(dashboard);
    await watched.view('/leases');
    const row = page.getByRole('row', { name: /jobs\/close-books/ });
    await row.getByRole('button', { name: 'Release…' }).click();
    await dialog().getByLabel('Reason').fill('host-3 hangs');
    await confirm('Release');
    await dialog().getByText('Type jobs/close-books to go on.').waitFor();
    await dialog().getByLabel('Type jobs/close-books').fill('jobs/close-books');
    await confirm('Release');
    await said(/jobs\/close-books is free; its fence is \d+ now/);
    expect(await lastAudited()).toMatchObject({ action: 'release lock', target: 'jobs/close-books' });
  });

  test('redrive a parked message of the outbox', async () => {
    await watched.view('/messages?status=parked');
    await page.getByLabel('Select b7f1c0d2-receipts').check();
    await press('Redrive…');
    await confirm('Redrive');
    await said('1 message will be sent again.');
  });

  test('discard a parked message of the outbox, with a reason', async () => {
    await parkMessages(dashboard, ['parked-1', 'parked-2']);
    await watched.view('/messages?status=parked');
    const discard = page.getByRole('button', { name: 'Discard…' });
    expect(await discard.getAttribute('title')).toBe('Select messages first.');
    await page.getByLabel('Select parked-1').check();
    await discard.click();
    await dialog().getByRole('heading', { name: 'Discard 1 message for good?' }).waitFor();
    await confirm('Discard');
    await dialog().getByText('Say why').waitFor();
    await dialog().getByLabel('Reason').fill('sent by hand');
    await confirm('Discard');
    await said('1 message discarded.');
    expect(await lastAudited()).toMatchObject({
      action: 'discard outbox message',
      target: 'parked-1',
      detail: { reason: 'sent by hand' },
    });
    expect(await parked()).toBe(1);
  });

  test('discard all parked messages of the outbox: counted first, with their number typed', async () => {
    await parkMessages(dashboard, ['parked-3', 'parked-4']);
    await watched.view('/messages');
    await press('Discard all parked…');
    await dialog().getByRole('heading', { name: 'Discard 3 messages?' }).waitFor();
    await dialog().getByLabel('Reason').fill('all were sent by hand');
    await dialog().getByLabel('Type 3').fill('3');
    await confirm('Discard');
    await untilCompleted();
    await page.getByText('discarded 3').first().waitFor();
    expect(await parked()).toBe(0);
  });

  test('redrive all parked messages of the outbox, by the button of the banner', async () => {
    await parkMessages(dashboard, ['parked-5', 'parked-6']);
    await watched.view('/');
    const banner = page.getByRole('listitem').filter({ hasText: 'refused by its queue' });
    await banner.getByRole('button', { name: 'Redrive…' }).click();
    await dialog().getByRole('heading', { name: 'Redrive 2 messages?' }).waitFor();
    await dialog().getByLabel('Reason').fill('the queue takes larger messages now');
    await confirm('Redrive');
    await untilCompleted();
    await page.getByText('redriven 2').first().waitFor();
    expect(await parked()).toBe(0);
  });

  test('pause all payments with a reason, and go on', async () => {
    await watched.view('/');
    await press('Pause…');
    await confirm('Pause');
    await dialog().getByText('Say why').waitFor();
    await dialog().getByLabel('Reason').fill('the bank asked us to');
    await confirm('Pause');
    await page.getByText('Payments are paused by function key').waitFor();
    await press('Resume…');
    await confirm('Resume');
    await said('Payments go on');
    expect(await lastAudited()).toMatchObject({ action: 'resume payments' });
  });

  test('discard a dead letter, with a reason', async () => {
    await watched.view('/messages?tab=dead');
    const poison = page.getByRole('row', { name: /no-such-stage/ });
    await poison.getByRole('checkbox').check();
    await press('Discard…');
    await dialog().getByRole('heading', { name: 'Discard 1 message for good?' }).waitFor();
    await dialog().getByLabel('Reason').fill('a test tool sent it');
    await confirm('Discard');
    await said('1 message discarded.');
    expect(await lastAudited()).toMatchObject({ action: 'discard dead letter' });
  });

  test('redrive dead letters, one and all', async () => {
    await watched.view('/messages?tab=dead');
    await page.getByLabel('Select a1c4-from-a-test-tool').check();
    await press('Redrive…');
    await confirm('Redrive');
    await said('1 message sent again.');
    await watched.view('/messages?tab=dead');
    await press('Redrive all…');
    await dialog()
      .getByRole('heading', { name: /Redrive \d+ messages?\?/ })
      .waitFor();
    await dialog().getByLabel('Reason').fill('the tool is mended');
    await confirm('Redrive');
    await untilCompleted();
    await page
      .getByText(/redriven \d+/)
      .first()
      .waitFor();
  });

  test('discard all dead letters of one queue', async () => {
    const deadLetters = async () => {
      const answer = await dashboard.ops('dead-letters?queue=payment-commands');
      return ((await answer.json()) as { total: number }).total;
    };
    // Nobody understands this message: redriven, it comes back.
    await expect.poll(deadLetters, { timeout: 30_000 }).toBe(1);
    await watched.view('/messages?tab=dead&queue=payment-commands');
    await press('Discard all of payment-commands…');
    await dialog().getByRole('heading', { name: 'Discard 1 message?' }).waitFor();
    await dialog().getByLabel('Reason').fill('a test tool sent it');
    await dialog().getByLabel('Type 1').fill('1');
    await confirm('Discard');
    await untilCompleted();
    expect(await deadLetters()).toBe(0);
  });

  test('import a file with bad rows, see which and why, send it again', async () => {
    await watched.view('/import');
    const file = { name: 'invoices.csv', mimeType: 'text/csv', buffer: readFileSync('samples/invoices.csv') };
    await page.locator('input[type=file]').setInputFiles(file);
    await press('Import 400 rows');
    await page.getByRole('heading', { name: 'Rejected rows' }).waitFor();
    const figures = page.getByRole('list', { name: 'Rows by what became of them' });
    expect(await figures.textContent()).toMatch(/Rejected\s*14\s*Stored\s*384\s*Known already\s*2$/);
    await page.getByRole('row', { name: /expected at most 2 decimals for USD, not "19.999"/ }).waitFor();
    const [saved] = await Promise.all([page.waitForEvent('download'), press('Rejected rows as a file')]);
    expect(readFileSync(await saved.path(), 'utf8').split('\r\n')).toHaveLength(16);
    await page.locator('input[type=file]').setInputFiles(file);
    await press('Import 400 rows');
    await expect
      .poll(() => figures.textContent(), { timeout: 20_000 })
      .toMatch(/Stored\s*0\s*Known already\s*386$/);
  });

  test('the report and the list of invoices as CSV', async () => {
    await watched.view('/report');
    const [report] = await Promise.all([page.waitForEvent('download'), press('CSV')]);
    expect(readFileSync(await report.path(), 'utf8')).toMatch(/^\uFEFFday,currency/);
    await watched.view('/invoices?status=paid');
    const [invoices] = await Promise.all([page.waitForEvent('download'), press('CSV')]);
    expect(readFileSync(await invoices.path(), 'utf8')).toContain('INV-2026-0050');
  });

  test('the whole page works by keyboard: skip link, dialog, Escape gives the focus back', async () => {
    await watched.view('/invoices/INV-2026-0044');
    await page.getByRole('button', { name: 'Void…' }).focus();
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog().count()).toBe(0);
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Void…');
  });

  test('a new invoice appears without a reload, and not while updates are off', async () => {
    await watched.view('/invoices?customer=cus_New');
    await page.getByText('No invoice matches these filters.').waitFor();
    // The page looks once more when it stops.
    const lastLook = page.waitForResponse(/ops\/invoices\?/);
    await press('Updates: on');
    await lastLook;
    const body = [
      {
        id: 'INV-NEW',
        customerId: 'cus_New',
        amountMinor: 500,
        currency: 'EUR',
        dueAt: '2099-01-01T00:00:00Z',
      },
    ];
    await dashboard.ops('invoices', { method: 'POST', body });
    expect(await page.getByRole('link', { name: 'INV-NEW' }).count()).toBe(0);
    await press('Updates: off');
    await page.getByRole('link', { name: 'INV-NEW' }).waitFor();
  });

  describe('an answer that does not arrive', () => {
    const noAnswer = (route: Route) => route.abort('connectionreset');
    const noClearAnswer = (route: Route) => route.fulfill({ status: 503, json: problem(503, 'Try again.') });

    /** Lets the first change to a path take effect, and loses its answer. Gives the idempotency keys of all that are sent. */
    async function lost(path: string, lose: (route: Route) => Promise<void>): Promise<string[]> {
      const keys: string[] = [];
      await page.route(`**/api/ops/${path}`, async (route) => {
        const request = route.request();
        if (request.method() !== 'POST') return route.continue();
        keys.push((await request.headerValue('idempotency-key')) ?? 'none');
        if (keys.length > 1) return route.continue();
        await route.fetch();
        return lose(route);
      });
      return keys;
    }

    async function runs(job: string): Promise<number> {
      return ((await (await dashboard.ops(`runs?job=${job}`)).json()) as { runs: unknown[] }).runs.length;
    }

    test.each([
      ['none', noAnswer, 'The app does not answer.', '24000', 24_000],
      ['503', noClearAnswer, 'Try again.', '24000', 48_000],
    ])(
      'to a refund (%s): pressed again, it is made once',
      async (_, lose, failure, amount, refundedMinor) => {
        await watched.view('/invoices/INV-2026-0051');
        const keys = await lost('invoices/INV-2026-0051/refund', lose);
        await press('Refund…');
        await dialog().getByLabel('Amount in JPY').fill(amount);
        await dialog().getByLabel('Reason').fill('half of it was not delivered');
        await confirm('Refund');
        await dialog().getByText(failure).waitFor();
        // The page behind the dialog learns of the refund before the button is pressed again.
        const looked = page.waitForResponse(/invoices\/INV-2026-0051$/);
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        await looked;
        await confirm('Refund');
        await said(/A refund of 24,000 JPY is ordered/);
        expect(keys).toHaveLength(2);
        expect(new Set(keys).size).toBe(1);
        expect(await invoice('INV-2026-0051')).toMatchObject({ reversals: { refundedMinor } });
      },
    );

    test('to a refund: another amount is refused, because the first may have been taken', async () => {
      const { reversals } = await invoice('INV-2026-0050');
      const { refundedMinor: before = 0 } = (reversals ?? {}) as { refundedMinor?: number };
      await watched.view('/invoices/INV-2026-0050');
      const keys = await lost('invoices/INV-2026-0050/refund', noAnswer);
      await press('Refund…');
      await dialog().getByLabel('Amount in USD').fill('10.00');
      await dialog().getByLabel('Reason').fill('a discount');
      await confirm('Refund');
      await dialog().getByText('The app does not answer.').waitFor();
      await dialog().getByLabel('Amount in USD').fill('5.00');
      await confirm('Refund');
      await dialog().getByText('The first try, with other values, was taken').waitFor();
      expect(new Set(keys).size).toBe(1);
      expect(await invoice('INV-2026-0050')).toMatchObject({ reversals: { refundedMinor: before + 1_000 } });
      await dialog().getByRole('button', { name: 'Cancel' }).click();
    });

    test('to a run: pressed again, it starts once', async () => {
      const before = await runs('process-invoices');
      await watched.view('/runs');
      const keys = await lost('runs', noAnswer);
      await press('Start run…');
      await confirm('Start run');
      await dialog().getByText('The app does not answer.').waitFor();
      await confirm('Start run');
      await untilCompleted();
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
      expect(await runs('process-invoices')).toBe(before + 1);
    });

    test('to a change of everything that matches: pressed again, it is one run', async () => {
      await parkMessages(dashboard, ['parked-0']);
      await watched.view('/messages');
      await press('Discard all parked…');
      const heading = dialog().getByRole('heading', { name: /^Discard [1-9]/ });
      await heading.waitFor();
      const count = /\d+/.exec((await heading.textContent()) ?? '')?.[0] ?? 'none';
      const before = await runs('bulk');
      const keys = await lost('bulk', noClearAnswer);
      await dialog().getByLabel('Reason').fill('sent by hand');
      await dialog().getByLabel(`Type ${count}`).fill(count);
      await confirm('Discard');
      await dialog().getByText('Try again.').waitFor();
      await confirm('Discard');
      await untilCompleted();
      expect(keys).toHaveLength(2);
      expect(new Set(keys).size).toBe(1);
      expect(await runs('bulk')).toBe(before + 1);
      expect(await parked()).toBe(0);
    });
  });
});
