import { readFileSync } from 'node:fs';
import { type SeededRandom, seededRandom } from '../../test/support/seededRandom.ts';
import type { Breakable } from './demoState.ts';
import type { MoneyGuard } from './switchFile.ts';
import type { ServiceName } from './world.ts';

/** The switch with this title, in the words of docs/demo.md. @throws if it is not there */
function described(title: string): Breakable {
  const cells = rows.find(([first]) => first === title);
  if (cells === undefined) throw new Error(`docs/demo.md has no row "${title}"`);
  const [, breaks = '', stands = '', more = ''] = cells;
  const [, words = '', page = ''] = /\[(.+)\]\(([^#]+)/.exec(more) ?? [];
  return { title, breaks, stands, words, page };
}
const rows = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8')
  .split('\n')
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

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
  late: { ...described('Provider answers late'), ...provider({ kind: 'delay', delayMs: 6_000, count: 3 }) },
  lost: { ...described('Provider loses answers'), ...provider({ kind: 'reset-after', count: 2 }) },
  fails: { ...described('Provider fails'), ...provider({ kind: '500-after', count: 3 }) },
  refuses: { ...described('Provider refuses'), ...provider({ kind: '429', count: 5 }) },
  providerAway: { ...described('Provider unreachable'), cut: 'payments' },
  cosmosAway: { ...described('Cosmos DB unreachable'), cut: 'cosmos' },
  cosmosLost: {
    ...described('Cosmos DB loses answers'),
    arm: { service: 'cosmos', body: { kind: 'reset-after', count: 2, filter: transactions } },
  },
  serviceBusAway: { ...described('Service Bus unreachable'), cut: 'serviceBus' },
  storageAway: { ...described('Storage unreachable'), cut: 'storage' },
  twice: {
    ...described('Every message twice'),
    arm: { service: 'serviceBus', body: { kind: 'expire-locks' } },
  },
  leases: { ...described('Every lease to the next who asks'), breakLeases: true },
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
  kill: described('Kill'),
  freeze: described('Freeze for 60 s'),
  stop: described('Stop as Azure does'),
  clock: described('Clock back two hours'),
};
export type HostFault = keyof typeof hostFaults;
export const hostFaultIds = Object.keys(hostFaults) as HostFault[];

export const guardTexts: Readonly<Record<MoneyGuard, Breakable>> = {
  lease: described('Lease'),
  claim: described('Condition of the claim'),
  key: described('Key of the invoice'),
};

/** Something that *all of it* does, `at` milliseconds after its start. */
export type DemoMishap = { at: number; forMs: number } & (
  | { kind: 'fault'; fault: FaultId }
  | { kind: 'host'; what: HostFault; host: number }
);

export const allOfItMs = 60_000;

/** A minute of everything that can go wrong; a function of the seed. Pure. */
export function allOfIt(seed: number, hosts: number): DemoMishap[] {
  const random = seededRandom(seed);
  const mishaps: DemoMishap[] = [];
  for (let at = 500; at < allOfItMs - 1_000; at += random.between(800, 2_500))
    mishaps.push(mishapAt(at, hosts, random));
  return mishaps;
}

function mishapAt(at: number, hosts: number, random: SeededRandom): DemoMishap {
  if (random.next() > 0.3)
    return { at, kind: 'fault', fault: random.pick(faultIds), forMs: random.between(1_000, 6_000) };
  const what = random.pick(hostFaultIds);
  return { at, kind: 'host', what, host: random.between(0, hosts - 1), forMs: random.between(2_000, 25_000) };
}
