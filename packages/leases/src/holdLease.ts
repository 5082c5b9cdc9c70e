import { bounded, limit } from './clock.ts';
import { errorText } from './errorText.ts';
import {
  type Acquired,
  type HeldLease,
  LeaseLost,
  LeaseReleased,
  type LeaseSetting,
  type Loss,
} from './lease.ts';
import { afterRenewal, type RenewalOutcome, timeOver } from './renewal.ts';
import { partMetric } from './telemetry.ts';
import { startTenure } from './tenure.ts';

/**
 * The life of one lease.
 *
 *            renewed: trusted until sentAt + lease − margin
 *              ┌──┐
 *              │  ▼      release() by the holder      renewal in flight has ended, store was told
 *  acquired ─► HELD ─────────────────────► RELEASING ─────────────────────► RELEASED
 *               │
 *               │  refused by the store (taken, broken, deleted), at a renewal or as soon as the store knows, or
 *               │  the trusted time is over (expired, unreachable), or
 *               │  surrender(): the process shuts down before its holder is done (expired)
 *               ▼
 *              LOST: final. `signal` aborts once; a success that arrives now changes nothing.
 *
 * Moves:
 * - the renewal loop: HELD → HELD, HELD → LOST;
 * - `assertHeld`, `lost` and `release`, which compare the clock: HELD → LOST. After a pause of the process,
 *   their caller may run before the loop's timer;
 * - `release`: HELD → RELEASING → RELEASED.
 *
 * A renewal that gets no answer moves nothing.
 */

type State = 'held' | 'lost' | 'releasing' | 'released';

/**
 * Renews a lease that the store has granted until it is released or lost; then `ended` is called once. It may be lost already.
 */
export function holdLease(
  acquired: Acquired,
  setting: LeaseSetting,
  ended: (lease: HeldLease) => void = () => {},
): HeldLease {
  const { key, owner, leaseId, fence } = acquired;
  const { store, clock, telemetry, timing } = setting;
  const attributes = { job: owner.job };
  const losing = new AbortController();
  let state: State = 'held';
  let loss: Loss | undefined;
  let tenure = startTenure(acquired.sentAt, setting);
  let inFlight = false;
  let wake = () => {};
  let releasing: Promise<void> | undefined;

  function lose(why: Loss): void {
    if (state !== 'held') return;
    state = 'lost';
    loss = why;
    telemetry.count(partMetric.leaseLost, { ...attributes, reason: why.reason });
    telemetry.record(partMetric.leaseHeldMs, clock.monotonic() - acquired.sentAt, attributes);
    wake();
    losing.abort(new LeaseLost(key, why));
    ended(lease);
  }

  function compareClock(): void {
    const now = clock.monotonic();
    if (state === 'held' && now >= tenure.trustedUntil) lose(timeOver(tenure, now, inFlight));
  }

  /** Sleeps until `at`. False if the lease ended meanwhile. */
  async function until(at: number): Promise<boolean> {
    if (state !== 'held') return false;
    await new Promise<void>((resolve) => {
      const cancel = limit(clock, Math.max(0, at - clock.monotonic()), resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
    return state === 'held';
  }

  async function renew(sentAt: number): Promise<RenewalOutcome> {
    inFlight = true;
    try {
      const ms = Math.min(timing.attemptMs, tenure.giveUpAt - sentAt);
      return await bounded(clock, ms, (signal) => store.renew(key, leaseId, timing.leaseMs, signal));
    } catch (error) {
      return { kind: 'failed', detail: errorText(error) };
    } finally {
      inFlight = false;
    }
  }

  async function keep(): Promise<void> {
    while (await until(Math.min(tenure.renewAt, tenure.giveUpAt))) {
      const sentAt = clock.monotonic();
      if (sentAt >= tenure.giveUpAt) return lose(timeOver(tenure, sentAt));
      telemetry.record(partMetric.eventLoopDelayMs, Math.max(0, sentAt - tenure.renewAt), attributes);
      telemetry.record(partMetric.leaseLeftAtRenewalMs, tenure.trustedUntil - sentAt, attributes);
      const outcome = await renew(sentAt);
      const now = clock.monotonic();
      const answer = typeof outcome === 'string' ? outcome : outcome.kind;
      telemetry.record(partMetric.leaseRenewMs, now - sentAt, { ...attributes, outcome: answer });
      const decision = afterRenewal(tenure, outcome, { sentAt, now }, setting);
      if (decision.kind === 'lost') return lose({ reason: decision.reason, detail: decision.detail });
      tenure = decision;
    }
  }
  const keeping = keep();

  async function giveBack(): Promise<void> {
    if (state === 'held') state = 'releasing';
    wake();
    // Requests in flight may arrive in any order: a renewal could land after the release, under the next
    // holder's lease.
    await keeping;
    try {
      await bounded(clock, timing.attemptMs, (signal) => store.release(key, leaseId, signal));
    } catch {
      // The work is done and must not fail now. The lease runs out by itself.
      telemetry.count(partMetric.leaseReleaseFailed, attributes);
    }
    if (state === 'lost') return;
    state = 'released';
    telemetry.record(partMetric.leaseHeldMs, clock.monotonic() - acquired.sentAt, attributes);
    ended(lease);
  }

  const lease: HeldLease = {
    key,
    fence,
    owner,
    signal: losing.signal,
    get lost() {
      compareClock();
      return loss;
    },
    get remainingMs() {
      compareClock();
      return state === 'held' ? tenure.trustedUntil - clock.monotonic() : 0;
    },
    assertHeld() {
      compareClock();
      if (loss !== undefined) throw new LeaseLost(key, loss);
      if (state !== 'held') throw new LeaseReleased(key);
    },
    release() {
      compareClock();
      // A lost lease is not released: the lock may already be someone else's.
      releasing ??= state === 'held' ? giveBack() : keeping;
      return releasing;
    },
    surrender(detail) {
      compareClock();
      if (state !== 'held') return lease.release();
      lose({ reason: 'expired', detail });
      releasing ??= giveBack();
      return releasing;
    },
    [Symbol.asyncDispose]: () => lease.release(),
  };
  store.onEnd?.(key, leaseId, (why) => {
    // After a pause the news may come before the timer.
    compareClock();
    lose(why);
  });
  return lease;
}
