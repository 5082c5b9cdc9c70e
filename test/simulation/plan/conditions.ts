/**
 * Faults of the network, the queues and the provider at the moment, and the fate of each call that follows
 * from them.
 */
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { Machine, Timeline } from '../engine/machine.ts';
import type { Fate } from '../engine/network.ts';
import type { AtCall, Fault, Service } from './faults.ts';
import { randomOf } from './plan.ts';

type Of<Kind extends Fault['kind']> = Extract<Fault, { kind: Kind }>;
type Lasting = Of<
  'flaky' | 'outage' | 'slow' | 'rateCut' | 'disorder' | 'searchAway' | 'eventsLost' | 'stale'
>;

export interface ConditionsParts {
  timeline: Timeline;
  seed: number;
  /** A call loses all leases. */
  loseLeases: () => void;
  /** The machine stands still. */
  hang: (machine: Machine, ms: number, frozen: boolean) => void;
}

export interface Conditions {
  fateOf(machine: Machine, service: Service): Fate;
  /** From now on calls count towards the one that the fault waits for: those of this machine, or of all. */
  await(fault: AtCall, machine: Machine | undefined): void;
  begin(fault: Lasting): void;
  /** Delay of a message of a queue (ms). */
  lateness(queue: 'serviceBus' | 'storageQueue'): number;
  /** True if a message of a queue comes twice. */
  comesTwice(queue: 'serviceBus' | 'storageQueue'): boolean;
  /** True if a queue hands out messages. */
  delivers(queue: 'serviceBus' | 'storageQueue'): boolean;
  /** Calls per second that the provider takes, of those that it allows. */
  rate(allowed: number): number;
  /** True if the search of the provider gives no answer. */
  searchAway(): boolean;
  /** True if an event is not delivered. */
  losesEvent(): boolean;
  /** Lag of a read of documents (ms). */
  staleMs(): number;
  /** Everything works from now on. */
  heal(): void;
  /** Number of times that each kind of trouble has struck. */
  readonly met: Map<string, number>;
}

/** Milliseconds there and back, least and most. */
const latencies: Readonly<Record<Service, readonly [number, number]>> = {
  cosmos: [2, 12],
  locks: [3, 15],
  serviceBus: [3, 20],
  storageQueue: [3, 15],
  blobs: [5, 20],
  provider: [60, 400],
  webhook: [20, 200],
};

/** No call is in flight for longer than this, in milliseconds: exactly-once.md says what a longer one could do. */
const longestMs = 60_000;

/** One call in so many takes much longer than usual. */
const tailOneIn = 100;
const tailFactor = 20;

/** Messages that one fault doubles, at most. */
const mostDoubled = 5;

interface Active<Kind extends Lasting> {
  fault: Kind;
  until: number;
  random: SeededRandom;
  /** Messages that it has doubled. */
  doubled: number;
}

export function createConditions({ timeline, seed, loseLeases, hang }: ConditionsParts): Conditions {
  const usual = randomOf(seed, 'latency');
  const met = new Map<string, number>();
  let lasting: Active<Lasting>[] = [];
  let awaited: { machine: Machine | undefined; fault: AtCall; left: number }[] = [];

  function count(what: string): void {
    met.set(what, (met.get(what) ?? 0) + 1);
  }

  function active<Kind extends Lasting['kind']>(kind: Kind, of: (fault: Of<Kind>) => boolean) {
    return lasting.filter(
      ({ fault, until }) => fault.kind === kind && until > timeline.now && of(fault as Of<Kind>),
    ) as Active<Of<Kind>>[];
  }

  function latency(service: Service): number {
    const [least, most] = latencies[service];
    const ms = usual.between(least, most) * (usual.between(1, tailOneIn) === 1 ? tailFactor : 1);
    if (lasting.length === 0) return ms;
    const slow = active('slow', (fault) => fault.service === service);
    return Math.min(
      longestMs,
      slow.reduce((sum, { fault }) => sum * fault.factor, ms),
    );
  }

  /** The fault that waited for this call. */
  function struck(machine: Machine, service: Service): AtCall | undefined {
    for (const one of awaited) {
      if (one.machine !== undefined && one.machine !== machine) continue;
      if (one.fault.service !== 'any' && one.fault.service !== service) continue;
      if (--one.left > 0) continue;
      awaited = awaited.filter((other) => other !== one);
      return one.fault;
    }
    return undefined;
  }

  /**
   * Applies a fault to the call that it waited for. Returns the fate of the call; undefined if it goes ahead
   * as usual.
   */
  function strike(
    fault: AtCall,
    {
      machine,
      service,
      thereMs,
      backMs,
    }: { machine: Machine; service: Service; thereMs: number; backMs: number },
  ): Fate | undefined {
    switch (fault.kind) {
      case 'crash':
        count(`crash ${service} ${fault.when}`);
        return { kind: 'crash', when: fault.when, thereMs, downMs: fault.downMs };
      case 'oneCall':
        count(`one call ${fault.becomes} ${service}`);
        return {
          lost: { kind: 'lost' as const, afterMs: thereMs },
          answerLost: { kind: 'answerLost' as const, thereMs, backMs },
          refused: { kind: 'refused' as const, afterMs: thereMs, denied: false },
          repeated: { kind: 'repeated' as const, thereMs, againMs: 5, backMs },
        }[fault.becomes];
      case 'hang': {
        count(`hang ${service} ${fault.when}`);
        // The provider gets no call that is older than it may be.
        const ms =
          service === 'provider' && fault.when === 'before' ? Math.min(fault.ms, longestMs) : fault.ms;
        hang(machine, ms, fault.frozen);
        return { kind: 'answered', thereMs: thereMs + (fault.when === 'before' ? ms : 0), backMs };
      }
      case 'leasesLost':
        count('leasesLost');
        loseLeases();
        return undefined;
    }
  }

  function troubled(service: Service, thereMs: number, backMs: number): Fate | undefined {
    for (const { fault } of active('outage', (one) => one.service === service)) {
      count(`outage ${service} ${fault.how}`);
      if (fault.how === 'silent') return { kind: 'lost', afterMs: 10_000 };
      return { kind: 'refused', afterMs: thereMs, denied: fault.how === 'denied' };
    }
    for (const { fault, random } of active('flaky', (one) => one.service === service)) {
      if (random.next() >= fault.share) continue;
      const fates: Fate[] = [
        { kind: 'answerLost', thereMs, backMs },
        { kind: 'answerLost', thereMs, backMs: 5_000 },
        { kind: 'lost', afterMs: random.pick([thereMs, 5_000]) },
        { kind: 'refused', afterMs: thereMs, denied: false },
        { kind: 'repeated', thereMs, againMs: random.pick([5, 1_000]), backMs },
      ];
      const fate = random.pick(fates);
      count(`flaky ${service} ${fate.kind}`);
      return fate;
    }
    return undefined;
  }

  return {
    met,
    await(fault, machine) {
      awaited.push({ machine, fault, left: fault.nth });
    },
    begin(fault) {
      const random = randomOf(seed, `fault ${fault.number}`);
      lasting.push({ fault, until: timeline.now + fault.ms, random, doubled: 0 });
    },
    heal() {
      lasting = [];
      awaited = [];
    },
    fateOf(machine, service) {
      const thereMs = Math.ceil(latency(service) / 2);
      const backMs = Math.ceil(latency(service) / 2);
      const fault = awaited.length === 0 ? undefined : struck(machine, service);
      const fate = fault && strike(fault, { machine, service, thereMs, backMs });
      if (fate !== undefined) return fate;
      const trouble = lasting.length === 0 ? undefined : troubled(service, thereMs, backMs);
      return trouble ?? { kind: 'answered', thereMs, backMs };
    },
    lateness(queue) {
      let late = 0;
      for (const { fault, random } of active('disorder', (one) => one.queue === queue)) {
        if (random.next() < fault.share) late += random.between(0, fault.lateMs);
      }
      if (late > 0) count(`late message ${queue}`);
      return late;
    },
    comesTwice(queue) {
      const [disorder] = active('disorder', (one) => one.queue === queue);
      if (disorder === undefined || disorder.random.next() >= disorder.fault.share) return false;
      // A message that is sent again and again would otherwise become thousands.
      if (disorder.doubled++ >= mostDoubled) return false;
      count(`doubled message ${queue}`);
      return true;
    },
    delivers: (queue) =>
      lasting.length === 0 || active('outage', (one) => one.service === queue).length === 0,
    searchAway() {
      const isAway = lasting.length > 0 && active('searchAway', () => true).length > 0;
      if (isAway) count('search away');
      return isAway;
    },
    losesEvent() {
      const isLost = active('eventsLost', () => true).some(
        ({ fault, random }) => random.next() < fault.share,
      );
      if (isLost) count('event lost');
      return isLost;
    },
    staleMs() {
      if (lasting.length === 0) return 0;
      const [stale] = active('stale', () => true);
      if (stale === undefined || stale.random.next() >= stale.fault.share) return 0;
      count('stale read');
      return stale.random.between(1, stale.fault.lagMs);
    },
    rate(allowed) {
      const cuts = active('rateCut', () => true);
      if (cuts.length > 0) count('rate cut');
      return Math.min(allowed, ...cuts.map(({ fault }) => fault.perSecond));
    },
  };
}
