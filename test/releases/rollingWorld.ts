import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { addUp, isSettled } from '../../local/start/figures.ts';
import type { HostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';
import { type CloudView, viewOf } from './cloudView.ts';
import { getFrom, run, startHost } from './hosts.ts';
import { buildReleases, type Releases } from './releases.ts';

/**
 * A local cloud on which hosts of several releases run: the newest kept one (payonce-VERSION.zip here, from
 * `npm run package -- release`; the sources, while none is kept), the sources, and a release that raises `formatVersion`. All use
 * the repository's node_modules.
 */
export interface RollingWorld {
  releases: Releases;
  cloud: LocalCloud;
  view: CloudView;
  /** Starts a host, which is killed after the test. */
  start: (app: string, name: string) => Promise<HostProcess>;
  /** Every invoice of every test is paid and charged once, has one receipt, and no message is unsent or a dead letter. */
  expectAllToAddUp: (host: HostProcess) => Promise<void>;
}

/** Sets up the world of a test file, and takes it down after its tests. */
export function rollingWorld(): () => RollingWorld {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-rolling-'));
  const everything = new AsyncDisposableStack();
  let hosts = new AsyncDisposableStack();
  let world: RollingWorld;
  beforeAll(async () => {
    const releases = await buildReleases(folder);
    const cloud = everything.use(await startLocalCloud());
    const view = viewOf(cloud);
    world = {
      releases,
      cloud,
      view,
      start: async (app, name) => hosts.use(await startHost(cloud, app, name)),
      expectAllToAddUp: (host) => expectAllToAddUp(view, host),
    };
  }, 90_000);
  afterEach(async () => {
    await hosts.disposeAsync();
    hosts = new AsyncDisposableStack();
  });
  afterAll(async () => {
    await everything.disposeAsync();
    await removeFolder(folder);
  }, 30_000);
  return () => world;
}

async function expectAllToAddUp(view: CloudView, host: HostProcess): Promise<void> {
  const receiptsDue = async () => {
    await view.makeOutboxDue();
    await run(host, 'sweepOutbox');
    const { invoices, undispatched } = await view.figures();
    const names = (await view.receiptsOf('')).map((name) => name.split('/')[0] ?? '').toSorted();
    return { undispatched, names, paid: invoices.map(({ id }) => id).toSorted() };
  };
  const { names, paid } = await until(
    receiptsDue,
    (now) => now.undispatched === 0 && new Set(now.names).size === now.paid.length,
  );
  expect(names).toEqual(paid);
  await until(view.queuedWorkItems, (queued) => queued === 0);
  const now = await view.figures();
  expect(isSettled(now, Date.now())).toBe(true);
  const { byStatus, problems, chargedTwice } = addUp(now);
  expect({ byStatus, problems, chargedTwice }).toEqual({
    byStatus: {
      pending: 0,
      claimed: 0,
      processing: 0,
      paid: paid.length,
      declined: 0,
      parked: 0,
      voided: 0,
    },
    problems: [],
    chargedTwice: 0,
  });
  expect(now.charges).toHaveLength(paid.length);
  expect(await view.commandStats()).toMatchObject({
    active: 0,
    locked: 0,
    scheduled: 0,
    deadLettered: 0,
  });
  expect(await getFrom(host, 'dead-letters')).toMatchObject({ deadLetters: [] });
}
