import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startPayments } from '../../local/stripe/index.ts';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { checkedAccount } from '../../src/paying/accountCheck.ts';
import type { AccountAnswer, RateLimited } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { anInstance } from '../support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());
afterEach(async () => {
  await cosmos.clearFaults();
  if ((await stored()) !== undefined) await place().delete();
});

const place = () => cosmos.containers.invoices.item(':provider-account', 'deployment');
const stored = async () => (await place().read<{ account?: string; mode: string }>()).resource;
const acct = (id: string, mode: 'live' | 'test' = 'live'): AccountAnswer => ({ kind: 'account', id, mode });
const unreadable: AccountAnswer = { kind: 'account', mode: 'live', message: 'no permission' };

/** One process, and what it has said. */
function aProcess(answer: () => AccountAnswer | RateLimited) {
  const clock = virtualClock();
  const telemetry = recordedTelemetry();
  const logged: string[] = [];
  const instance = anInstance({ clock, telemetry, log: (line) => logged.push(line) });
  const documents = cosmosDocuments(cosmos.containers.invoices);
  let asked = 0;
  const provider = {
    async account() {
      asked++;
      return answer();
    },
  };
  const paused = { now: false };
  const ends: string[] = [];
  const turn = {
    answered: () => void ends.push('answered'),
    refused: (retryAfterMs = 0) => void ends.push(`refused ${retryAfterMs}`),
    unused() {},
  };
  const turns = { turn: async () => (paused.now ? undefined : turn) };
  const account = checkedAccount(provider, documents, instance, turns);
  const check = account.admission;
  const { checkKey, turn: ofOurs } = account;
  const probe = () => account.healthChecks[0]?.probe();
  return { clock, telemetry, logged, check, checkKey, turn: ofOurs, probe, paused, ends, asked: () => asked };
}

/** The name of the deployment is made once. */
const same = { kind: 'same', deployment: expect.stringMatching(/^[0-9a-f]{8}$/) };

describe('the account that a deployment began with', () => {
  test('is recorded by the first process; the same account is asked for once in the life of a process', async () => {
    const first = aProcess(() => acct('acct_1'));
    expect(await Promise.all([first.check(), first.check()])).toEqual([same, same]);
    expect(first.asked()).toBe(1);
    expect(await stored()).toMatchObject({ type: 'providerAccount', account: 'acct_1', mode: 'live' });
    expect(await aProcess(() => acct('acct_1')).check()).toEqual(same);
    await first.clock.advance(3_600_000);
    await cosmos.fault({ kind: '503', count: 100 });
    expect(await first.check()).toEqual(same);
    expect(first.asked()).toBe(1);
  });

  test('one wins if processes of two accounts start at the same time', async () => {
    const processes = ['acct_1', 'acct_2', 'acct_1', 'acct_2'].map((id) => ({
      id,
      ...aProcess(() => acct(id)),
    }));
    const states = await Promise.all(processes.map(({ check }) => check()));
    const winner = (await stored())?.account;
    expect(states.map(({ kind }) => kind)).toEqual(
      processes.map(({ id }) => (id === winner ? 'same' : 'blocked')),
    );
  });

  test.each([
    ['another account', acct('acct_2'), 'acct_2 (live mode)'],
    ['another mode', acct('acct_1', 'test'), 'acct_1 (test mode)'],
    ['a key of another mode that may not read it', { ...unreadable, mode: 'test' as const }, '(test mode)'],
  ])('%s is named next to it, counted and logged', async (_, answer, other) => {
    await aProcess(() => acct('acct_1')).check();
    const second = aProcess(() => answer);
    const state = await second.check();
    if (state.kind !== 'blocked') throw new Error(`expected a change, got ${state.kind}`);
    expect(state.message).toContain('acct_1 (live mode)');
    expect(state.message).toContain(other);
    expect(second.logged).toEqual([state.message]);
    expect(second.telemetry.values(metric.providerAccountChanged)).toEqual([1]);
    expect(await stored()).toMatchObject({ account: 'acct_1', mode: 'live' });
  });

  test('a change is looked at again after half a minute, so that nobody has to restart anything', async () => {
    await aProcess(() => acct('acct_1')).check();
    let now = acct('acct_2');
    const second = aProcess(() => now);
    await second.check();
    now = acct('acct_1');
    await second.clock.advance(29_999);
    expect(await second.check()).toMatchObject({ kind: 'blocked', retryAfterMs: 60_000 });
    await second.clock.advance(1);
    expect(await second.check()).toEqual(same);
  });

  test('a key that may not read it is checked for its mode; a later one that may adds the id', async () => {
    const restricted = aProcess(() => unreadable);
    expect(await restricted.check()).toEqual(same);
    expect(restricted.logged).toEqual([
      "only the mode of the payment provider's account is checked: no permission",
    ]);
    expect(await stored()).toEqual(expect.not.objectContaining({ account: expect.anything() }));
    expect(await aProcess(() => acct('acct_1')).check()).toEqual(same);
    expect(await stored()).toMatchObject({ account: 'acct_1' });
    expect(await aProcess(() => unreadable).check()).toEqual(same);
    expect(await aProcess(() => acct('acct_2')).check()).toMatchObject({
      kind: 'blocked',
      retryAfterMs: 60_000,
    });
  });

  test('of two processes that add the id, one wins', async () => {
    await aProcess(() => unreadable).check();
    const ids = ['acct_1', 'acct_2'];
    const states = await Promise.all(ids.map((id) => aProcess(() => acct(id)).check()));
    const winner = (await stored())?.account;
    expect(states.map(({ kind }) => kind)).toEqual(ids.map((id) => (id === winner ? 'same' : 'blocked')));
  });

  test('a key that is refused is reported: no call gets as far as the circuit breaker', async () => {
    const refused = { kind: 'unknown', message: 'refused', fault: 'keyRejected' } as const;
    const one = aProcess(() => refused);
    expect(await one.check()).toMatchObject({ kind: 'blocked', retryAfterMs: 5_000 });
    expect(one.telemetry.values(metric.providerKeyRejected)).toEqual([1]);
  });

  test.each<[string, AccountAnswer, boolean]>([
    ['the provider gives no answer', { kind: 'unknown', message: 'down' }, false],
    ['the store gives none', acct('acct_1'), true],
  ])('%s: it is unclear, and soon asked again', async (_, answer, storeAway) => {
    let now = answer;
    const one = aProcess(() => now);
    if (storeAway) await cosmos.fault({ kind: '503', count: 100 });
    expect(await one.check()).toMatchObject({ kind: 'blocked', retryAfterMs: 5_000 });
    await cosmos.clearFaults();
    now = acct('acct_1');
    expect(await one.check()).toMatchObject({ kind: 'blocked', retryAfterMs: 5_000 });
    await one.clock.advance(2_000);
    expect(await one.check()).toEqual(same);
  });

  test('a question that comes too early is asked again at its next turn, and the pace learns of it', async () => {
    const limited: RateLimited = {
      kind: 'rateLimited',
      overRate: true,
      message: 'slow down',
      retryAfterMs: 7,
    };
    let refusals = 2;
    const one = aProcess(() => (refusals-- > 0 ? limited : acct('acct_1')));
    expect(await one.check()).toEqual(same);
    expect(one.ends).toEqual(['refused 7', 'refused 7', 'answered']);
  });

  test('without a turn nothing is called, and the next call asks again', async () => {
    const one = aProcess(() => acct('acct_1'));
    one.paused.now = true;
    expect(await one.check()).toEqual({ kind: 'notCalled' });
    one.paused.now = false;
    expect(await one.check()).toEqual(same);
    expect(one.asked()).toBe(1);
  });
});

describe('the key', () => {
  const refused: AccountAnswer = { kind: 'unknown', message: 'refused', fault: 'keyRejected' };
  const reported = ({ telemetry }: ReturnType<typeof aProcess>) =>
    telemetry.values(metric.providerKeyRejected);

  test('that is rejected is reported without a single payment, and so is its replacement', async () => {
    const given: { answer: AccountAnswer } = { answer: refused };
    const one = aProcess(() => given.answer);
    await one.checkKey();
    expect(reported(one)).toEqual([1]);
    expect(one.logged).toEqual([expect.stringContaining('refuses our key')]);
    given.answer = acct('acct_1');
    await one.clock.advance(120_000);
    await one.checkKey();
    expect(reported(one)).toEqual([1, 0]);
    // Only a call records the account.
    expect(await stored()).toBeUndefined();
  });

  test('is asked about at most every two minutes, and in no pause', async () => {
    const one = aProcess(() => acct('acct_1'));
    for (let seconds = 0; seconds < 600; seconds += 30) {
      await one.checkKey();
      await one.clock.advance(30_000);
    }
    expect(one.asked()).toBe(5);
    one.paused.now = true;
    await one.checkKey();
    expect(one.asked()).toBe(5);
    one.paused.now = false;
    await one.checkKey();
    expect(one.asked()).toBe(6);
  });

  test.each<[string, AccountAnswer]>([
    ['no answer', { kind: 'unknown', message: 'no answer' }],
    ['a failure of the provider', { kind: 'unknown', message: '500', fault: 'badAnswer' }],
  ])('%s says nothing about it', async (_, answer) => {
    const one = aProcess(() => answer);
    await one.checkKey();
    expect(reported(one)).toEqual([]);
  });
});

describe('a provider of another account', () => {
  test('is not called: calls are blocked, and health names both accounts', async () => {
    await aProcess(() => acct('acct_1')).check();
    const other = aProcess(() => acct('acct_2'));
    const both = expect.stringMatching(/acct_1 \(live mode\).*acct_2 \(live mode\)/);
    expect(await other.check()).toEqual({ kind: 'blocked', message: both, retryAfterMs: 60_000 });
    await expect(other.probe()).rejects.toThrow(/acct_1 \(live mode\).*acct_2 \(live mode\)/);
  });

  test('has no turn for a look at its events, which are not ours; before anything was paid a look records nothing', async () => {
    const first = aProcess(() => acct('acct_2'));
    expect(await first.turn(1_000, 'last')).toBeDefined();
    expect(await stored()).toBeUndefined();
    await aProcess(() => acct('acct_1')).check();
    expect(await aProcess(() => acct('acct_1')).turn(1_000, 'last')).toBeDefined();
    expect(await aProcess(() => acct('acct_2')).turn(1_000, 'last')).toBeUndefined();
  });

  test('is found out by the health check, before anything is due', async () => {
    await aProcess(() => acct('acct_1')).check();
    await expect(aProcess(() => acct('acct_2')).probe()).rejects.toThrow('acct_2');
  });

  test('is no matter of health before anything was paid: a look records nothing', async () => {
    const one = aProcess(() => acct('acct_1'));
    await expect(one.probe()).resolves.toBeUndefined();
    expect(one.asked()).toBe(0);
    expect(await stored()).toBeUndefined();
  });

  test('while the account is not known, calls are blocked, but nothing is wrong with the app', async () => {
    const one = aProcess(() => ({ kind: 'unknown', message: 'down' }));
    expect(await one.check()).toMatchObject({ kind: 'blocked', message: 'the account is not known: down' });
    await aProcess(() => acct('acct_1')).check();
    await expect(one.probe()).resolves.toBeUndefined();
  });

  test('is not asked by the health check while payments are paused', async () => {
    await aProcess(() => acct('acct_1')).check();
    const one = aProcess(() => acct('acct_2'));
    one.paused.now = true;
    await expect(one.probe()).resolves.toBeUndefined();
    expect(one.asked()).toBe(0);
  });
});

test('Stripe’s client reads the account, and the mode from the key', async () => {
  await using payments = await startPayments({ account: 'acct_Own' });
  const provider = stripeProvider({
    secretKey: payments.secretKey,
    apiBase: payments.baseUrl,
    timeoutMs: 2_000,
  });
  expect(await provider.account()).toEqual({ kind: 'account', id: 'acct_Own', mode: 'test' });
});
