import { type SeededRandom, seededRandom } from '../support/seededRandom.ts';

/** Something that goes wrong `at` milliseconds after the start. */
export type Mishap = { at: number } & (
  | { kind: 'kill' | 'terminate'; host: number; awayMs: number }
  /** The process freezes and then continues, unaware of the gap. */
  | { kind: 'pause'; host: number; pauseMs: number }
  /** The server of the locks dies with all its data, and starts without any. */
  | { kind: 'locks gone'; awayMs: number }
  /** `fault` is POSTed to a stand-in's `/_local/faults`. */
  | { kind: 'fault'; service: 'cosmos' | 'serviceBus' | 'payments'; fault: Record<string, unknown> }
);

export interface ScheduleOptions {
  seed: number;
  durationMs: number;
  hosts: number;
  /** The locks are on a server of their own, which loses its data. */
  lockServer?: boolean;
}

/** The mean gap between mishaps of each stream, in milliseconds. */
const everyMs = { process: 7_000, cosmos: 2_000, serviceBus: 4_000, payments: 1_500, locks: 15_000 };

/** All mishaps of a run, in order; a function of the seed. Pure. */
export function chaosSchedule({ seed, durationMs, hosts, lockServer = false }: ScheduleOptions): Mishap[] {
  const random = seededRandom(seed);
  const stream = (meanMs: number, make: (at: number) => Mishap): Mishap[] => {
    const mishaps: Mishap[] = [];
    for (let at = random.gap(meanMs); at < durationMs; at += random.gap(meanMs)) mishaps.push(make(at));
    return mishaps;
  };
  return [
    ...stream(everyMs.process, (at) => processMishap(at, hosts, random)),
    ...stream(everyMs.cosmos, (at) => ({ at, kind: 'fault', service: 'cosmos', fault: cosmosFault(random) })),
    ...stream(everyMs.serviceBus, (at) => ({
      at,
      kind: 'fault',
      service: 'serviceBus',
      fault: serviceBusFault(random),
    })),
    ...stream(everyMs.payments, (at) => ({
      at,
      kind: 'fault',
      service: 'payments',
      fault: paymentsFault(random),
    })),
    ...(lockServer ? stream(everyMs.locks, (at) => lockMishap(at, random)) : []),
  ].toSorted((a, b) => a.at - b.at);
}

/** Stops alone, spread over the time, of one host after another; `kills` of them, spread likewise, are SIGKILL. Pure. */
export function stopSchedule({
  seed,
  durationMs,
  hosts,
  stops,
  kills,
}: Omit<ScheduleOptions, 'lockServer'> & { stops: number; kills: number }): Mishap[] {
  const random = seededRandom(seed);
  const killsBefore = (n: number) => Math.floor((n * kills) / stops);
  return Array.from({ length: stops }, (_, n) => ({
    at: ((n + random.next()) * durationMs) / stops,
    kind: killsBefore(n + 1) > killsBefore(n) ? 'kill' : 'terminate',
    host: n % hosts,
    awayMs: 0,
  }));
}

function lockMishap(at: number, random: SeededRandom): Mishap {
  return { at, kind: 'locks gone', awayMs: random.between(200, 5_000) };
}

function processMishap(at: number, hosts: number, random: SeededRandom): Mishap {
  const host = random.between(0, hosts - 1);
  const kind = random.pick(['kill', 'kill', 'pause', 'terminate'] as const);
  // Short pauses, and some that outlast leases (15 s) and claims (20 s).
  if (kind === 'pause') return { at, kind, host, pauseMs: random.between(500, random.pick([5_000, 30_000])) };
  return { at, kind, host, awayMs: random.between(200, 3_000) };
}

function cosmosFault(random: SeededRandom): Record<string, unknown> {
  const kind = random.pick(['429', '503', '408', 'reset-before', 'reset-after', 'reset-after', 'delay']);
  return {
    kind,
    count: random.between(1, kind === '429' ? 20 : 6),
    ...(random.next() < 0.5 ? { filter: { container: 'invoices', operation: 'batch' } } : {}),
    ...(kind === '429' ? { retryAfterMs: random.between(5, 500) } : {}),
    ...(kind === 'delay' ? { delayMs: random.between(200, 4_000) } : {}),
  };
}

function serviceBusFault(random: SeededRandom): Record<string, unknown> {
  const operation = random.pick(['send', 'receive', 'settle']);
  return random.pick<Record<string, unknown>>([
    { kind: 'drop-connection' },
    { kind: 'drop-connection', operation, when: 'before', count: random.between(1, 2) },
    { kind: 'drop-connection', operation, when: 'after', count: random.between(1, 2) },
    { kind: 'expire-locks' },
    { kind: 'refuse', operation: random.pick(['send', 'settle']), count: random.between(1, 4) },
    { kind: 'delay', operation, delayMs: random.between(100, 4_000), count: random.between(1, 4) },
  ]);
}

function paymentsFault(random: SeededRandom): Record<string, unknown> {
  const kind = random.pick([
    'timeout-before',
    'timeout-after',
    'reset-before',
    'reset-after',
    '500',
    '500-after',
    '429',
    'decline',
    'delay',
    'delay',
    'delay',
  ]);
  // Slow calls are common: they keep work in flight when a host dies.
  if (kind === 'delay') return { kind, count: random.between(20, 120), delayMs: random.between(100, 3_000) };
  return { kind, count: random.between(1, 4) };
}
