/** A row of docs/evidence.md: a promise, and the commands that try to break it. */
export interface EvidenceRow {
  shows: string;
  /** Things that the commands do not try, as part of a sentence. */
  without: string;
  commands: readonly string[];
  /** Minutes on two cores with nothing else running. Rows of an hour or more are renewed by name only. */
  minutes: number;
  /** Code that the row is about, as globs, with all that it imports (records.ts). A change in it makes the row older than the code. */
  files: readonly string[];
  /** Code among them that only judges a run, as globs: a corrected check makes no run older. */
  except?: readonly string[];
  /** Lines of the output that are the result. */
  result: RegExp;
  /** Schedules of one run, of a command that takes `--from` and `--seeds`. No run repeats those of an earlier one. */
  seeds?: number;
}

const app = ['src/**/*.ts', 'packages/{leases,jobs}/src/**/*.ts'];
const localCloud = ['packages/local-azure/src/**/*.ts', 'local/{cloud,provision}.ts', 'local/stripe/**/*.ts'];
const locks = ['packages/{leases,lock-stores}/src/**/*.ts', 'bench/stores/**/*.ts'];

export const evidenceRows: Readonly<Record<string, EvidenceRow>> = {
  simulation: {
    shows:
      'A fleet of the real app goes through days of faults, and every invoice, refund and receipt is right in the end.',
    without:
      'sockets, SDKs and processors: the world is in memory. Checks (test/simulation/invariants) are those of the revision of a run',
    commands: ['npm run check -- simulate'],
    minutes: 20,
    files: [...app, 'test/simulation/**/*.ts', 'test/memory/*.ts'],
    except: ['test/simulation/{invariants,kept}/**'],
    result: /^seeds |^(\d+) of \1 schedules|^\d+ events in|^seed \d+ fails|^"/,
    seeds: 20_000,
  },
  guards: {
    shows: 'For each guard of money or of a lease that is switched off, the test that is named for it fails.',
    without: 'guards that nobody has listed in test/guards/guards.ts',
    commands: ['npm run check -- guards', 'npm run check -- lock-guards'],
    minutes: 8,
    files: [...app, 'packages/lock-stores/src/**/*.ts', 'test/guards/*.ts', 'packages/leases/test/*.ts'],
    result: /guards are watched|sabotages caught|left out|unnoticed|misfit|UNNOTICED/,
  },
  'simulated-guards': {
    shows: 'The simulation notices each guard that is switched off, and each fault that is put into the app.',
    without: 'those that test/simulation/sabotage/blind.ts names with the reason',
    commands: ['npm run check -- simulated-guards'],
    minutes: 240,
    files: [...app, 'test/simulation/**/*.ts', 'test/memory/*.ts', 'test/guards/guards.ts'],
    result: /are found; |NOT FOUND|but blind.ts|it does not run/,
  },
  crash: {
    shows:
      'A host is killed before and after each request that a payment makes, and another one finishes the work.',
    without:
      'requests while a host starts, the Durable task hub, a second crash during the recovery (the fleet row has these)',
    commands: [
      'one-invoice',
      'two-hosts',
      'sweeper',
      'batch',
      'look-up',
      'event',
      'called-again',
      'give-back',
      'void',
      'retry-method',
      'refund',
    ].map((scenario) => `npm run check -- crash --scenario ${scenario}`),
    minutes: 180,
    files: [...app, ...localCloud, 'test/crash/*.ts'],
    result: /crash points|not reached|broken/,
  },
  fleet: {
    shows:
      'Hosts are killed, frozen and stopped while every service fails; then each invoice has one charge and one receipt.',
    without: 'Azure itself: the services are the local ones',
    commands: [
      'npm run check -- fleet chaos --minutes 5 --drain 240',
      'npm run check -- fleet shutdown',
      'npm run check -- fleet bulk',
    ],
    minutes: 30,
    files: [...app, ...localCloud, 'test/fleet/*.ts'],
    result: /^\w+: seed|adds? up|^[A-Z]\w+ .*\d/,
  },
  outages: {
    shows:
      'Each service and each pair is away for 1 minute to 30 hours: the right alert fires, everything gets paid, nothing is parked.',
    without: 'three services at once; an outage of a part of a service',
    commands: ['npm run check -- outages'],
    minutes: 6,
    files: [...app, 'test/simulation/**/*.ts', 'test/memory/*.ts', 'infra/modules/alerts.bicep'],
    result: /./,
  },
  fuzz: {
    shows: 'Every request is answered, none with a 500 or a secret, and payments go on meanwhile.',
    without: 'the front ends of Azure, which refuse some of these before the app sees them',
    commands: ['npm run check -- fuzz'],
    minutes: 2,
    files: [...app, ...localCloud, 'test/fuzz/*.ts'],
    result: /requests with seed|paid|blocked|held|BROKEN|^ {2}\S/,
  },
  hostile: {
    shows: 'Imports that are made to block the event loop or to fill the memory do not disturb payments.',
    without: 'bodies above the limit of the platform, 12 MB here',
    commands: ['npm run check -- hostile'],
    minutes: 2,
    files: [...app, ...localCloud, 'test/hostile/*.ts'],
    result: /disturbed:|blocked|held|BROKEN/,
  },
  events: {
    shows:
      'Thousands of events of the provider, late, twice, forged and in any order, leave each invoice as its payment is.',
    without: 'kinds of events that the app does not read',
    commands: ['npm run check -- events'],
    minutes: 2,
    files: [...app, 'test/after/*.ts', 'test/memory/*.ts'],
    result: /^seed|matches the ledger|left something wrong|^\s+\w+: (?!\{$)/,
  },
  storm: {
    shows:
      'Two people and a shop send conflicting calls to two hosts; every invoice then agrees with the ledger to the minor unit.',
    without: 'hosts that die meanwhile (the fleet row has these)',
    commands: ['npm run check -- storm'],
    minutes: 15,
    files: [...app, ...localCloud, 'test/storm/*.ts'],
    result: /^seed|agrees with the ledger|problems/,
  },
  pace: {
    shows:
      'The fleet uses the allowance of the provider, whatever the latency, with hosts that die and join.',
    without: 'allowances above 400 a second, and the list of events, which an app without a webhook reads',
    commands: ['npm run bench -- pace'],
    minutes: 55,
    files: [...app, ...localCloud, 'bench/pace/*.ts'],
    result: /^(share:|refused:|per s|[\d ]+ )|meet the bars/,
  },
  scale: {
    shows:
      'A hundred thousand invoices due at once are paid at the rate that the provider allows, each claimed once.',
    without: 'processors and networks: the time is simulated. A million takes a quarter of an hour',
    commands: ['npm run check -- scale --invoices 100000'],
    minutes: 3,
    files: [...app, 'test/simulation/**/*.ts', 'test/memory/*.ts'],
    result: /^(?!\d+ s:)./,
  },
  locks: {
    shows:
      'Two holders never trust one lock on a real server that is frozen, cut off, killed or emptied; fences only rise.',
    without: 'clusters over several machines. Stores whose servers are not installed are left out by name',
    commands: [
      'npm run bench -- store-faults',
      'npm run bench -- store-faults --wipes 20',
      'npm run check -- lock-campaign',
    ],
    minutes: 90,
    files: [...locks, 'packages/{leases,lock-stores}/test/**/*.ts'],
    result: /leases, |times without data|left out|schedules:|fence \d|^\s*(Test Files|Tests) /,
  },
  conformance: {
    shows: 'The local cloud and the official SDKs agree on all that the contract tests ask.',
    without:
      'the official emulators and Azure, which CI and people run against ([which](../CONTRIBUTING.md#other-systems-to-test-against))',
    commands: [
      'npm run test:full -- packages/local-azure/test test/cloudContract.test.ts packages/jobs/test test/invoice/store',
    ],
    minutes: 5,
    files: [...localCloud, 'packages/jobs/src/**/*.ts', 'packages/{local-azure,jobs}/test/**/*.ts'],
    result: /^\s*(Test Files|Tests) /,
  },
  demo: {
    shows:
      'Without any one of lease, claim and key nobody is charged twice; without all three somebody is, within a minute.',
    without: 'two of the three off',
    commands: [
      ...['lease', 'claim', 'key'].map((guard) => `npm run check -- demo --off ${guard}`),
      'npm run check -- demo --off lease,claim,key --minutes 1 --runs 5',
    ],
    minutes: 55,
    files: [...app, ...localCloud, 'local/demo/*.ts', 'test/demo/*.ts'],
    result: /charged twice|as they have to be|As it has to be/,
  },
};
