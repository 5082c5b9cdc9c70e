import { expect, test } from 'vitest';
import { keyCheck } from '../../src/paying/keyCheck.ts';
import type { AccountAnswer, RateLimited } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

/** A check whose provider answers like this; a test may change the answer. */
function aCheck(first: AccountAnswer | RateLimited) {
  const clock = virtualClock();
  const telemetry = recordedTelemetry();
  const logged: string[] = [];
  const given = { answer: first, asked: 0 };
  const provider = {
    async account() {
      given.asked++;
      return given.answer;
    },
  };
  const check = keyCheck(provider, { clock, telemetry, log: (line) => void logged.push(line) });
  return {
    clock,
    telemetry,
    logged,
    given,
    check,
    reported: () => telemetry.values(metric.providerKeyRejected),
  };
}

const refused: AccountAnswer = { kind: 'unknown', message: 'refused', fault: 'keyRejected' };
const taken: AccountAnswer = { kind: 'account', mode: 'test' };

test('a rejected key is reported without a single payment, and so is its replacement', async () => {
  const { check, given, clock, logged, reported } = aCheck(refused);
  await check();
  expect(reported()).toEqual([1]);
  expect(logged).toEqual([expect.stringContaining('refuses our key')]);
  given.answer = taken;
  await clock.advance(120_000);
  await check();
  expect(reported()).toEqual([1, 0]);
});

test('the provider is asked at most every two minutes', async () => {
  const { check, given, clock } = aCheck(taken);
  for (let seconds = 0; seconds < 600; seconds += 30) {
    await check();
    await clock.advance(30_000);
  }
  expect(given.asked).toBe(5);
});

test.each<[string, AccountAnswer | RateLimited]>([
  ['no answer', { kind: 'unknown', message: 'no answer' }],
  ['a failure of the provider', { kind: 'unknown', message: '500', fault: 'badAnswer' }],
  ['too many calls', { kind: 'rateLimited', overRate: true, message: 'slow down' }],
])('%s says nothing about the key', async (_, answer) => {
  const { check, reported } = aCheck(answer);
  await check();
  expect(reported()).toEqual([]);
});
