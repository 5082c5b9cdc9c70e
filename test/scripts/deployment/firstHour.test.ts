import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { deployedApp } from '../../../scripts/deployment/deployedApp.ts';
import { verifyDeployment } from '../../../scripts/deployment/verify.ts';

/*
 * The check of a first deployment against a stand-in of Azure Resource Manager and the app: the answers that both give before they
 * are ready, over HTTP, in virtual time.
 */

type Answer = { status: number; body: unknown };
const down: Answer = {
  status: 503,
  body: { error: { code: 'ServiceUnavailable', message: 'host runtime' } },
};
const badGateway: Answer = { status: 502, body: 'Bad Gateway' };
const notReady: Answer = {
  status: 400,
  body: { Code: 'BadRequest', Message: 'Encountered an error (ServiceUnavailable) from host runtime.' },
};
const forbidden: Answer = { status: 403, body: { error: { code: 'AuthorizationFailed' } } };
const healthy: Answer = { status: 200, body: { status: 'ok' } };
const settings = (error: string): Answer => ({
  status: 503,
  body: { status: 'failing', checks: { settings: { ok: false, ms: 1, error } } },
});
const unresolved = settings(
  "STRIPE_SECRET_KEY: is an unresolved Key Vault reference: the secret, or the app's role on the vault, is missing",
);

/** Answers of each call, one after the other, before it succeeds for good. */
interface Story {
  sync?: Answer[];
  listKeys?: Answer[];
  secret?: Answer[];
  health?: Answer[];
  locks?: Answer[];
  /** Answer of health for good. */
  atLast?: Answer;
  /** Answer of health until the platform has been told this often to read the vault again. */
  refreshesNeeded?: number;
}

async function play(story: Story) {
  const queues = structuredClone(story);
  const calls: Record<string, number> = {};
  let fence = 1;
  const answerOf = (path: string): Answer => {
    const [name, then] = routes(path);
    calls[name] = (calls[name] ?? 0) + 1;
    const queue = name in queues ? queues[name as keyof Pick<Story, 'sync'>] : undefined;
    return queue?.shift() ?? then();
  };
  const routes = (path: string): [string, () => Answer] => {
    if (path.includes('/syncfunctiontriggers')) return ['sync', () => ({ status: 204, body: undefined })];
    if (path.includes('/listKeys'))
      return ['listKeys', () => ({ status: 200, body: { functionKeys: { default: 'key' } } })];
    if (path.includes('/secrets/')) return ['secret', () => ({ status: 200, body: {} })];
    if (path.includes('/configreferences/')) return ['refresh', () => ({ status: 200, body: {} })];
    if (path.includes('/restart')) return ['restart', () => ({ status: 200, body: {} })];
    if (path === '/api/ops/health')
      return [
        'health',
        () => ((calls.restart ?? 0) < (story.refreshesNeeded ?? 0) ? unresolved : (story.atLast ?? healthy)),
      ];
    fence += 1;
    const locks = ['jobs/sweep-outbox', 'jobs/process-invoices/0'].map((key) => ({ key, fence }));
    return ['locks', () => ({ status: 200, body: { locks } })];
  };
  const server = createServer(({ url = '' }, response) => {
    const { status, body } = answerOf(url);
    response.statusCode = status;
    response.end(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  let time = 0;
  const clock = {
    now: () => time,
    monotonic: () => time,
    sleep: async (ms: number) => {
      time += ms;
    },
  };
  const lines: string[] = [];
  const app = deployedApp({
    resourceId: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/a',
    vaultId: '/subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/v',
    ops: `${base}/api`,
    arm: base,
    armToken: async () => 'token',
  });
  try {
    const verdict = await verifyDeployment(app, {
      clock,
      intervalSeconds: 300,
      paused: false,
      signIn: false,
      log: (line) => lines.push(line),
    });
    return { verdict, calls, lines, minutes: time / 60_000 };
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

const works = { kind: 'works', notes: [] };

test.each<[string, Story]>([
  ['the host is not up when the triggers are synchronized', { sync: [notReady, down, notReady] }],
  ['the function key cannot be read at first', { listKeys: [down, forbidden, down] }],
  ['ops/locks fails while the timers are watched', { locks: [badGateway, down] }],
  ['the key was given, and its reference is resolved only after a while', { refreshesNeeded: 2 }],
])('a deployment works though %s', async (_, story) => {
  expect((await play(story)).verdict).toEqual(works);
});

test('a first deployment with late roles, late secrets and 503s at every step ends green', async () => {
  const late = {
    sync: [notReady, down, forbidden, notReady],
    listKeys: [down, forbidden, down],
    secret: [forbidden, down],
    health: [{ status: 404, body: '' }, badGateway, { status: 401, body: '' }, down],
    locks: [badGateway, down, badGateway],
    refreshesNeeded: 2,
  };
  const { verdict, calls, lines, minutes } = await play(late);
  expect(verdict).toEqual(works);
  expect(calls.restart).toBe(2);
  expect(minutes).toBeLessThan(10);
  // Whoever watches sees what it is waiting for.
  expect(lines.filter((line) => line.startsWith('still waiting: ')).length).toBeGreaterThan(5);
});

test('without a key in the vault it ends green and says so, however often the vault could not be asked', async () => {
  const none: Answer = { status: 404, body: { error: { code: 'SecretNotFound' } } };
  const { verdict, calls } = await play({ atLast: unresolved, secret: [down, forbidden, none] });
  expect(verdict).toMatchObject({ kind: 'waits', for: expect.stringContaining('stripe-secret-key') });
  expect(calls.restart).toBeUndefined();
});

test.each<[string, Story, { what: RegExp; look: RegExp }]>([
  [
    'the secret is no key',
    { atLast: settings('STRIPE_SECRET_KEY: expected a Stripe secret or restricted key') },
    { what: /STRIPE_SECRET_KEY: expected/, look: /no Stripe key/ },
  ],
  [
    'the key belongs to another account',
    {
      atLast: {
        status: 503,
        body: {
          checks: {
            paymentAccount: { ok: false, ms: 3, error: 'the payments of this deployment are in acct_1' },
          },
        },
      },
    },
    { what: /acct_1/, look: /another Stripe account/ },
  ],
  [
    'the key stays out of reach of the app',
    { refreshesNeeded: 1_000 },
    { what: /unresolved Key Vault reference/, look: /Key Vault Secrets User/ },
  ],
  [
    'the function key stays out of reach of this identity',
    { listKeys: Array.from({ length: 100 }, () => forbidden) },
    { what: /host\/default\/listKeys: 403/, look: /function key cannot be read/ },
  ],
  [
    'the host never comes up',
    { sync: Array.from({ length: 100 }, () => notReady) },
    { what: /syncfunctiontriggers: 400/, look: /host of the app does not start/ },
  ],
  [
    'the locks can never be read',
    { locks: Array.from({ length: 100 }, () => badGateway) },
    { what: /ops\/locks: 502/, look: /store that LOCKS names/ },
  ],
  [
    'the package never arrives',
    { atLast: { status: 404, body: '' } },
    { what: /ops\/health: 404/, look: /did the package arrive/ },
  ],
])('a deployment ends red with its reason if %s', async (_, story, { what, look }) => {
  const { verdict } = await play(story);
  expect(verdict).toMatchObject({
    kind: 'failed',
    what: expect.stringMatching(what),
    look: expect.stringMatching(look),
  });
});
