import { expect, test } from 'vitest';
import { type PaymentAllowance, pacedProvider, paymentPace } from '../../src/paying/pacedProvider.ts';
import type {
  PacedProvider,
  ChargeOutcome,
  ChargeRequest,
  BlockedCall,
  PaymentProvider,
  RateLimited,
} from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { emptyProvider } from '../support/emptyProvider.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { type VirtualClock, virtualClock } from '../support/virtualClock.ts';

const paid: ChargeOutcome = { kind: 'succeeded', paymentId: 'pi_1' };
const limited: RateLimited = { kind: 'rateLimited', overRate: true, message: 'slow down' };
const blocked: BlockedCall = { kind: 'blocked', message: 'blocked', retryAfterMs: 10_000 };
const second = 1_000;

const request = (invoiceId: string): ChargeRequest => ({
  invoiceId,
  amountMinor: 1,
  currency: 'USD',
  customerId: 'cus-1',
  paymentMethod: 'pm_card_visa',
  idempotencyKey: `invoice-${invoiceId}-1`,
});

/** One process at a pace, with a provider that the test answers for. */
function world(
  answer: (call: { id: string; at: number }) => ChargeOutcome | RateLimited,
  allowance: PaymentAllowance = { rate: 10, accountRate: 100 },
  held?: (clock: VirtualClock) => Promise<BlockedCall | undefined>,
) {
  const clock = virtualClock();
  const telemetry = recordedTelemetry();
  const instance = anInstance({ clock, telemetry });
  const stopping = new AbortController();
  const calls: { id: string; at: number; kind: 'charge' | 'find' }[] = [];
  const provider: PaymentProvider = {
    ...emptyProvider,
    async charge({ invoiceId: id }) {
      const call = { id, at: clock.now(), kind: 'charge' as const };
      calls.push(call);
      await clock.sleep(100);
      return answer(call);
    },
    async find({ invoiceId: id }) {
      calls.push({ id, at: clock.now(), kind: 'find' });
      await clock.sleep(100);
      return { kind: 'notFound' };
    },
  };
  const pace = paymentPace({ store: memoryPaceStore(), instance, stopping: stopping.signal }, allowance);
  const paced = pacedProvider(
    provider,
    pace,
    instance,
    held && { admission: async () => (await held(clock)) ?? { kind: 'same' } },
  );
  return { clock, telemetry, calls, paced, stopping, start: clock.now() };
}

function charges(
  paced: PacedProvider,
  ids: readonly string[],
  window: Parameters<PacedProvider['within']>[0],
) {
  const calls = paced.within(window);
  return Promise.all(ids.map((id) => calls.charge(request(id))));
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `inv-${n}`);

test('calls are made at the rate, in the order in which they were asked for', async () => {
  const { clock, calls, paced, start } = world(() => paid);
  const all = charges(paced, ids(30), { before: clock.monotonic() + 60 * second });
  await clock.advance(10 * second);
  expect(await all).toEqual(Array(30).fill(paid));
  expect(calls.map(({ id }) => id)).toEqual(ids(30));
  const last = calls.at(-1)?.at ?? 0;
  expect((last - start) / second).toBeGreaterThanOrEqual(2.8);
  expect((last - start) / second).toBeLessThan(3.2);
});

test('a call that may not be made any more once the account is known is not made', async () => {
  let allowed = true;
  const { clock, calls, paced } = world(
    () => paid,
    { rate: 10, accountRate: 100 },
    async (time) => {
      await time.sleep(5 * second);
      allowed = false;
      return undefined;
    },
  );
  const all = charges(paced, ids(1), { before: clock.monotonic() + 60 * second, mayCall: () => allowed });
  await clock.advance(90 * second);
  expect(await all).toEqual([{ kind: 'notCalled' }]);
  expect(calls).toEqual([]);
});

test('what is blocked is not called, and says why', async () => {
  const held = { kind: 'blocked' as const, message: 'another account', retryAfterMs: 60_000 };
  const { clock, calls, paced } = world(
    () => paid,
    { rate: 10, accountRate: 100 },
    async () => held,
  );
  const all = charges(paced, ids(3), { before: clock.monotonic() + 60 * second });
  await clock.advance(10 * second);
  expect(await all).toEqual([held, held, held]);
  expect(calls).toEqual([]);
});

test('each call that is refused for its key is reported, even one that opens no circuit', async () => {
  const refused: ChargeOutcome = { kind: 'unknown', message: 'refused', fault: 'keyRejected' };
  const { clock, paced, telemetry } = world(({ id }) => (id === 'inv-0' ? refused : paid));
  const all = charges(paced, ids(3), { before: clock.monotonic() + 60 * second });
  await clock.advance(10 * second);
  expect(await all).toEqual([refused, paid, paid]);
  expect(telemetry.values(metric.providerKeyRejected)).toEqual([1]);
  expect(telemetry.values(metric.paymentBreakerOpen)).toEqual([]);
});

test('a call that is refused because there are too many is made again at its next turn, before the others', async () => {
  let refusals = 1;
  const { clock, calls, paced, telemetry } = world(({ id }) =>
    id === 'inv-0' && refusals-- > 0 ? limited : paid,
  );
  const all = charges(paced, ids(10), { before: clock.monotonic() + 60 * second });
  await clock.advance(10 * second);
  expect(await all).toEqual(Array(10).fill(paid));
  expect(calls.map(({ id }) => id).slice(0, 4)).toContain('inv-0');
  expect(calls.map(({ id }) => id).slice(1, 4)).toContain('inv-0');
  expect(telemetry.values(metric.paceCalls)).toHaveLength(11);
});

test('nothing is called before the time that the provider asks to wait for', async () => {
  let first = true;
  const { clock, calls, paced, start } = world(() => {
    if (!first) return paid;
    first = false;
    return { ...limited, retryAfterMs: 5 * second };
  });
  const all = charges(paced, ids(20), { before: clock.monotonic() + 60 * second });
  await clock.advance(30 * second);
  expect(await all).toEqual(Array(20).fill(paid));
  // Calls that had begun before the answer came are not called back.
  const later = calls.map(({ at }) => at - start).filter((at) => at > 150);
  expect(Math.min(...later)).toBeGreaterThanOrEqual(5 * second);
});

test('a call whose turn does not come within its window is not made', async () => {
  const { clock, calls, paced } = world(() => paid);
  const all = charges(paced, ids(50), { before: clock.monotonic() + 2 * second });
  await clock.advance(3 * second);
  const outcomes = await all;
  expect(outcomes.filter(({ kind }) => kind === 'notCalled')).toHaveLength(50 - calls.length);
  expect(calls.length).toBeGreaterThanOrEqual(18);
  expect(calls.length).toBeLessThanOrEqual(22);
});

test('a batch that may make no more calls gives its turns to others', async () => {
  const { clock, calls, paced } = world(() => paid);
  const before = clock.monotonic() + 60 * second;
  const withdrawn = charges(paced, ids(20), { before, mayCall: () => false });
  const other = charges(paced, ['other'], { before });
  await clock.advance(second);
  expect(await withdrawn).toEqual(Array(20).fill({ kind: 'notCalled' }));
  expect(await other).toEqual([paid]);
  expect(calls.map(({ id }) => id)).toEqual(['other']);
});

test('while calls are blocked nothing waits for a turn that no call would use', async () => {
  const { clock, paced } = world(() => blocked);
  const all = charges(paced, ids(100), { before: clock.monotonic() + 60 * second });
  await clock.advance(15 * second);
  expect(await all).toEqual(Array(100).fill(blocked));
});

test('another call at work on the same object: made again after a second, without slowing down the rest', async () => {
  let busy = 1;
  const { clock, calls, paced, telemetry } = world(() =>
    busy-- > 0 ? { ...limited, overRate: false } : paid,
  );
  const all = charges(paced, ['inv-0'], { before: clock.monotonic() + 60 * second });
  await clock.advance(5 * second);
  expect(await all).toEqual([paid]);
  expect((calls[1]?.at ?? 0) - (calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(second);
  const results = telemetry.reports.filter(({ name }) => name === metric.paceCalls);
  expect(results.map(({ attributes }) => attributes.result)).toEqual(['answered', 'answered']);
});

test('a process that stops ends all waits', async () => {
  const { clock, paced, stopping } = world(() => paid);
  const all = charges(paced, ids(50), { before: clock.monotonic() + 60 * second });
  await clock.advance(1);
  const admission = paced.admit(50, clock.monotonic() + 60 * second);
  await clock.advance(second);
  stopping.abort();
  await clock.advance(second);
  expect((await all).filter(({ kind }) => kind === 'notCalled').length).toBeGreaterThan(30);
  expect(await admission).toBeUndefined();
  expect(await paced.admit(1, clock.monotonic() + second)).toBeUndefined();
});

test('work is let in shortly before its calls can be made', async () => {
  const { clock, paced } = world(() => paid);
  const before = clock.monotonic() + 60 * second;
  const began: number[] = [];
  const batch = async (name: string) => {
    const admission = await paced.admit(20, before);
    began.push(clock.monotonic());
    const calls = charges(
      paced,
      ids(20).map((id) => `${name}-${id}`),
      { before },
    );
    admission?.[Symbol.dispose]();
    await calls;
  };
  const start = clock.monotonic();
  const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(batch));
  await clock.advance(30 * second);
  await all;
  const seconds = began.map((at) => (at - start) / second);
  expect(seconds[1]).toBeLessThan(2.5);
  for (const [index, at] of seconds.entries()) expect(at).toBeGreaterThan(2 * index - 4.5);
  expect(seconds[4]).toBeGreaterThan(3.5);
});

test('look-ups have a limit of their own', async () => {
  const { clock, calls, paced, start } = world(() => paid, { rate: 10, accountRate: 100 });
  const window = { before: clock.monotonic() + 60 * second };
  const all = charges(paced, ids(50), window);
  const found = Promise.all(ids(100).map((id) => paced.within(window).find(request(id))));
  await clock.advance(10 * second);
  await all;
  await found;
  const last = (kind: string) => ((calls.findLast((call) => call.kind === kind)?.at ?? 0) - start) / second;
  expect(last('charge')).toBeLessThan(5.3);
  expect(last('find')).toBeGreaterThan(4.8);
  expect(last('find')).toBeLessThan(5.3);
});

test('in a sandbox look-ups take what charges leave of the account’s rate, and never stop', async () => {
  const { clock, calls, paced } = world(() => paid, { rate: 25, accountRate: 25 });
  const window = { before: clock.monotonic() + 60 * second };
  const all = charges(paced, ids(500), window);
  const found = Promise.all(ids(40).map((id) => paced.within(window).find(request(id))));
  await clock.advance(18 * second);
  const counted = (kind: string) => calls.filter((call) => call.kind === kind).length;
  expect(calls.length).toBeLessThanOrEqual(25 * 18 + 25);
  expect(counted('charge')).toBeGreaterThanOrEqual(0.9 * 25 * 18);
  expect(counted('find')).toBeGreaterThan(5);
  await clock.advance(20 * second);
  await all;
  expect((await found).every(({ kind }) => kind === 'notFound')).toBe(true);
});
