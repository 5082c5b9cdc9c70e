import { type SeededRandom, seededRandom } from '../../test/support/seededRandom.ts';
import type { Breakable } from './demoState.ts';
import { switches } from './switches.ts';
import type { MoneyGuard } from './switchFile.ts';
import type { ServiceName } from './world.ts';

/** Something that goes on until it is switched off. */
interface Fault extends Breakable {
  /** Armed again each second, so that some calls go through: `POST /_local/faults` of the service. */
  arm?: { service: 'payments' | 'serviceBus' | 'cosmos'; body: Record<string, unknown> };
  cut?: ServiceName;
  breakLeases?: true;
}

const provider = (body: Record<string, unknown>) => ({ arm: { service: 'payments' as const, body } });
const transactions = { container: 'invoices', operation: 'batch' };

const faults = {
  late: { ...switches.late, ...provider({ kind: 'delay', delayMs: 6_000, count: 3 }) },
  lost: { ...switches.lost, ...provider({ kind: 'reset-after', count: 2 }) },
  fails: { ...switches.fails, ...provider({ kind: '500-after', count: 3 }) },
  refuses: { ...switches.refuses, ...provider({ kind: '429', count: 5 }) },
  providerAway: { ...switches.providerAway, cut: 'payments' },
  cosmosAway: { ...switches.cosmosAway, cut: 'cosmos' },
  cosmosLost: {
    ...switches.cosmosLost,
    arm: { service: 'cosmos', body: { kind: 'reset-after', count: 2, filter: transactions } },
  },
  serviceBusAway: { ...switches.serviceBusAway, cut: 'serviceBus' },
  storageAway: { ...switches.storageAway, cut: 'storage' },
  twice: {
    ...switches.twice,
    arm: { service: 'serviceBus', body: { kind: 'expire-locks' } },
  },
  leases: { ...switches.leases, breakLeases: true },
} as const satisfies Record<string, Fault>;

export type FaultId = keyof typeof faults;
export const faultIds = Object.keys(faults) as FaultId[];
export const faultOf = (id: FaultId): Fault => faults[id];

/** Each transaction takes as long as over a slow network, so that those of two hosts can meet. Armed after the faults. */
export const slowTransactions = {
  service: 'cosmos' as const,
  body: { kind: 'delay', delayMs: 400, count: 1_000, filter: transactions },
};

/** Something that happens to one host. */
export const hostFaults = {
  kill: switches.kill,
  freeze: switches.freeze,
  stop: switches.stop,
  clock: switches.clock,
};
export type HostFault = keyof typeof hostFaults;
export const hostFaultIds = Object.keys(hostFaults) as HostFault[];

export const guardTexts: Readonly<Record<MoneyGuard, Breakable>> = {
  lease: switches.lease,
  claim: switches.claim,
  key: switches.key,
};

/** Something that *all of it* does, `at` milliseconds after its start. */
export type DemoMishap = { at: number } & (
  | { kind: 'fault'; fault: FaultId; forMs: number }
  | { kind: 'host'; what: HostFault; host: number; forMs: number }
  | { kind: 'deploy' }
);

export const allOfItMs = 60_000;

/** A minute of everything that can go wrong; a function of the seed. Pure. */
export function allOfIt(seed: number, hosts: number): DemoMishap[] {
  const random = seededRandom(seed);
  const mishaps: DemoMishap[] = [];
  for (let at = 500; at < allOfItMs - 1_000; at += random.between(800, 2_500))
    mishaps.push(mishapAt(at, hosts, random));
  // It takes a minute or more: in the first half of this one most of it meets the other mishaps.
  mishaps.push({ at: random.between(500, allOfItMs / 2), kind: 'deploy' });
  return mishaps.toSorted((one, other) => one.at - other.at);
}

function mishapAt(at: number, hosts: number, random: SeededRandom): DemoMishap {
  if (random.next() > 0.3)
    return { at, kind: 'fault', fault: random.pick(faultIds), forMs: random.between(1_000, 6_000) };
  const what = random.pick(hostFaultIds);
  return { at, kind: 'host', what, host: random.between(0, hosts - 1), forMs: random.between(2_000, 25_000) };
}
