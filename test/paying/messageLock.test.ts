import { describe, expect, test } from 'vitest';
import { keepMessageLock, type LockRenewal, messageLockMs } from '../../src/paying/messageLock.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

const second = 1_000;
const renewed: LockRenewal = { kind: 'renewed', until: 0 };
const lost: LockRenewal = { kind: 'lost' };

/** A lock kept on a virtual clock. The service gives `answers` in turn, then repeats the last one. */
function keptLock(...answers: (LockRenewal | Error | Promise<LockRenewal>)[]) {
  const clock = virtualClock();
  const telemetry = recordedTelemetry();
  const start = clock.monotonic();
  const asked: number[] = [];
  const renew = async () => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? renewed;
    asked.push((clock.monotonic() - start) / second);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { clock, telemetry, asked, lock: keepMessageLock(renew, { clock, telemetry }) };
}

describe('keepMessageLock', () => {
  test('short work costs one request, at once', async () => {
    const { lock, clock, asked } = keptLock(renewed);
    await clock.advance(19 * second);
    expect(lock.held()).toBe(true);
    lock[Symbol.dispose]();
    await clock.advance(300 * second);
    expect(asked).toEqual([0]);
    expect(clock.sleepers()).toBe(0);
  });

  test('during long work it is renewed three times as often as needed, even past the host’s five minutes', async () => {
    const { lock, clock, asked } = keptLock(renewed);
    await clock.advance(400 * second);
    expect(asked).toEqual(Array.from({ length: 21 }, (_, n) => 20 * n));
    expect(lock.held()).toBe(true);
  });

  test('a lost lock is reported once, counted, and never renewed again', async () => {
    const { lock, clock, asked, telemetry } = keptLock(renewed, lost, renewed);
    await clock.advance(19 * second);
    expect(lock.held()).toBe(true);
    await clock.advance(1 * second);
    expect(lock.held()).toBe(false);
    await clock.advance(300 * second);
    expect(lock.held()).toBe(false);
    expect(asked).toEqual([0, 20]);
    expect(telemetry.values(metric.messageLockLost)).toEqual([1]);
  });

  test('completing the message while a renewal is in flight is not a loss', async () => {
    const late = Promise.withResolvers<LockRenewal>();
    const { lock, clock, telemetry } = keptLock(late.promise);
    await clock.advance(20 * second);
    lock[Symbol.dispose]();
    late.resolve(lost);
    await clock.advance(100 * second);
    expect(telemetry.values(metric.messageLockLost)).toEqual([]);
    expect(clock.sleepers()).toBe(0);
  });

  test('a service that does not answer is asked again sooner, and the lock is trusted only until it expires', async () => {
    const { lock, clock, asked } = keptLock(renewed, new Error('no connection'));
    await clock.advance(messageLockMs - 1);
    expect(lock.held()).toBe(true);
    await clock.advance(1);
    expect(lock.held()).toBe(false);
    expect(asked).toEqual([0, 20, 25, 30, 35, 40, 45, 50, 55, 60]);
  });

  test('once the service answers again, the lock is known to have been held throughout', async () => {
    const error = new Error('no connection');
    const { lock, clock } = keptLock(...Array<Error>(7).fill(error), renewed);
    await clock.advance(34 * second);
    expect(lock.held()).toBe(false);
    await clock.advance(1 * second);
    expect(lock.held()).toBe(true);
  });

  test('a renewal counts from its request: a slow answer is worth less', async () => {
    const slow = Promise.withResolvers<LockRenewal>();
    const { lock, clock, asked } = keptLock(slow.promise, new Error('no connection'));
    await clock.advance(50 * second);
    expect(lock.held()).toBe(false);
    slow.resolve(renewed);
    await clock.advance(0);
    expect(lock.held()).toBe(true);
    await clock.advance(messageLockMs - 50 * second);
    expect(lock.held()).toBe(false);
    await clock.advance(10 * second);
    expect(asked.slice(0, 2)).toEqual([0, 70]);
  });

  test('work waits for the first answer, for two seconds at most', async () => {
    const answered = keptLock(lost);
    await answered.lock.asked();
    expect(answered.lock.held()).toBe(false);

    const silent = keptLock(new Promise<LockRenewal>(() => {}));
    let waited = false;
    void silent.lock.asked().then(() => {
      waited = true;
    });
    await silent.clock.advance(2 * second - 1);
    expect(waited).toBe(false);
    await silent.clock.advance(1);
    expect(waited).toBe(true);
    expect(silent.lock.held()).toBe(true);
  });

  test('before the first answer only half the lock time is trusted, as the age of the lock is unknown', async () => {
    const { lock, clock } = keptLock(new Promise<LockRenewal>(() => {}));
    await clock.advance(messageLockMs / 2 - 1);
    expect(lock.held()).toBe(true);
    await clock.advance(1);
    expect(lock.held()).toBe(false);
  });

  test('a process that was frozen does not trust its lock until it has asked', async () => {
    const { lock, clock, asked } = keptLock(renewed, renewed, renewed, lost);
    await clock.advance(41 * second);
    clock.stall(70 * second);
    expect(lock.held()).toBe(false);
    expect(asked).toEqual([0, 20, 40]);
    await clock.advance(0);
    expect(asked).toEqual([0, 20, 40, 111]);
    expect(lock.held()).toBe(false);
  });

  test('tells what the clock of the service has shown, and never goes back', async () => {
    const until = (time: number): LockRenewal => ({ kind: 'renewed', until: time + messageLockMs });
    const { lock, clock } = keptLock(until(5_000), new Error('no connection'), until(30_000), until(29_000));
    expect(lock.serviceTime()).toBe(0);
    await clock.advance(24 * second);
    expect(lock.serviceTime()).toBe(5_000);
    await clock.advance(1 * second);
    expect(lock.serviceTime()).toBe(30_000);
    await clock.advance(20 * second);
    expect(lock.serviceTime()).toBe(30_000);
  });
});
