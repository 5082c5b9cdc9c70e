import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { amountText } from '../../ui/src/format/amountText.ts';
import { currentBuild, nextBuild } from './build.ts';
import type { DemoCharge, DemoEvent, DemoState, HostState } from './demoState.ts';
import * as texts from './faults.ts';
import type { FaultId, HostFault } from './faults.ts';
import { createObserver, type ObservedInvoice, type Seen } from './observe.ts';
import type { DemoStep } from './step.ts';
import { storyOf, type WorldEvent } from './story.ts';
import { switches } from './switches.ts';
import { type MoneyGuard, moneyGuards, type Switches, writeSwitches } from './switchFile.ts';
import { hostPorts, startWorld } from './world.ts';

const everyMs = 1_000;
const freezeMs = 60_000;
const clockBackMs = -2 * 3_600_000;
/** Invoices after which the stream ends: the ledger is read as a whole twice a second. */
const mostInvoices = 20_000;

/** Something that a person does to the demo. */
export const demoAction = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('rate'), perSecond: z.int().min(0).max(50) }),
  z.strictObject({ do: z.literal('fault'), id: z.enum(texts.faultIds), on: z.boolean() }),
  z.strictObject({ do: z.literal('host'), host: z.int().min(0).max(2), what: z.enum(texts.hostFaultIds) }),
  z.strictObject({ do: z.literal('guards'), ids: z.array(z.enum(moneyGuards)), on: z.boolean() }),
  z.strictObject({ do: z.literal('deploy') }),
  z.strictObject({ do: z.literal('all'), seed: z.int().min(0) }),
  /** Starts with an empty ledger, and every switch as it was at first. */
  z.strictObject({ do: z.literal('reset') }),
]);
type Action = z.infer<typeof demoAction>;

export interface Demo extends AsyncDisposable {
  state(): DemoState;
  /** Events of an invoice, in order; undefined if there is none. */
  story(id: string): Promise<DemoEvent[] | undefined>;
  /** Resolves once it is done; what it starts goes on. */
  act(action: Action): Promise<void>;
}

export async function startDemo(folder: string): Promise<Demo> {
  const ports = await hostPorts();
  let round = await startRound(folder, ports);
  let resetting: Promise<void> | undefined;
  const reset = async () => {
    await round[Symbol.asyncDispose]();
    round = await startRound(folder, ports);
  };
  return {
    state: () => ({ ...round.state(), ready: resetting === undefined }),
    story: (id) => round.story(id),
    async act(action) {
      if (action.do !== 'reset' && resetting === undefined) return round.act(action);
      resetting ??= reset().finally(() => (resetting = undefined));
      return resetting;
    },
    async [Symbol.asyncDispose]() {
      await resetting?.catch(() => {});
      await round[Symbol.asyncDispose]();
    },
  };
}

/** The demo from one reset to the next. */
async function startRound(folder: string, ports: readonly number[]) {
  const events: WorldEvent[] = [];
  /** By invoice. */
  const steps = new Map<string, DemoEvent[]>();
  const inHost = new Map<string, { calls: number; latest: string }>();
  /** Time before each was first sent (ISO 8601), by id, the latest last. */
  const sent = new Map<string, string>();
  const on = new Set<FaultId>();
  const off = new Set<MoneyGuard>();
  const keyOff: Switches['keyOff'] = [];
  const clocksBack = new Set<string>();
  const ended = new AbortController();
  let perSecond = 5;
  let build = currentBuild();
  let isDeploying = false;
  let running: { seed: number; until: number } | undefined;
  let seen: Seen = {
    due: 0,
    paid: 0,
    ledger: [],
    queue: { active: 0, locked: 0, scheduled: 0 },
    leases: new Map(),
  };
  let invoices: ObservedInvoice[] = [];

  await using starting = new AsyncDisposableStack();
  const world = starting.use(await startWorld({ folder, ports, onStep, onState }));
  const { hosts } = world;
  const observer = starting.use(createObserver(world.settings));
  const loops = [
    every(everyMs, importSome),
    every(everyMs, () =>
      observer.arm([...[...on].flatMap((id) => texts.faultOf(id).arm ?? []), texts.slowTransactions]),
    ),
    every(everyMs / 2, look),
    every(
      everyMs / 4,
      async () => [...on].some((id) => texts.faultOf(id).breakLeases) && observer.breakLeases(),
    ),
  ];
  const parts = starting.move();

  function onStep(host: string, step: DemoStep): void {
    const taken = inHost.get(host) ?? { calls: 0, latest: '' };
    inHost.set(host, taken);
    if (step.kind === 'call') taken.calls++;
    if (step.kind === 'answer') taken.calls = Math.max(0, taken.calls - 1);
    const event = { at: new Date().toISOString(), what: stepText(step), by: host };
    const about = step.kind === 'message' ? step.invoices : [step.invoice];
    for (const id of about) steps.set(id, [...(steps.get(id) ?? []), event]);
    taken.latest = `${about.join(', ')}: ${event.what}`;
  }

  function onState(host: string, state: HostState): void {
    if (state === 'gone') inHost.delete(host);
    note(`is ${state}`, { by: host, of: host, begins: state !== 'up' });
  }

  function note(what: string, rest: Omit<WorldEvent, 'at' | 'what'> = {}): void {
    events.push({ at: new Date().toISOString(), what, ...rest });
  }

  /** Notes that a switch, of one host or of all, has been turned. */
  function noteSwitch(what: string, begins: boolean, host: { by?: string } = {}): void {
    note(`${what}: ${begins ? 'begins' : 'ends'}`, { ...host, of: `${what} ${host.by}`, begins });
  }

  function wait(ms: number): Promise<void> {
    return delay(Math.max(0, ms), undefined, { signal: ended.signal });
  }

  /** Repeats it until the round ends. What fails is done the next time: hosts are killed under it. */
  async function every(ms: number, work: () => Promise<unknown>): Promise<void> {
    while (!ended.signal.aborted) await Promise.allSettled([work(), wait(ms)]);
  }

  /** Imports what a second brings, through hosts that are up, until one has taken it. */
  async function importSome(): Promise<void> {
    if (sent.size >= mostInvoices) return;
    const sentAt = new Date().toISOString();
    const rows = Array.from({ length: perSecond }, (_, index) => newInvoice(sent.size + index + 1));
    for (let asked = 0, taken = rows.length === 0; !taken; asked++) {
      const up = hosts.filter((host) => host.state() === 'up');
      const answer = fetch(`${up[asked % Math.max(1, up.length)]?.address}/api/ops/invoices`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rows),
        signal: AbortSignal.any([ended.signal, AbortSignal.timeout(5_000)]),
      });
      taken = await answer.then(({ ok }) => ok).catch(() => false);
      if (!taken) await wait(500);
    }
    for (const { id } of rows) sent.set(id, sentAt);
  }

  async function look(): Promise<void> {
    [seen, invoices] = await Promise.all([observer.look(), observer.invoices([...sent.keys()].slice(-24))]);
  }

  function setFault(id: FaultId, isOn: boolean): void {
    if (on.has(id) === isOn) return;
    if (isOn) on.add(id);
    else on.delete(id);
    const { title, cut } = texts.faultOf(id);
    noteSwitch(title, isOn);
    if (cut !== undefined) world.cut(cut, isOn);
  }

  function breakHost(index: number, what: HostFault, forMs = freezeMs): void {
    const host = hosts[index];
    if (host === undefined) return;
    if (what === 'clock') return setClock(host.name, !clocksBack.has(host.name));
    note(texts.hostFaults[what].title, { by: host.name });
    switch (what) {
      case 'kill':
        return host.kill();
      case 'stop':
        return host.terminate();
      case 'freeze':
        return host.freeze(forMs);
    }
  }

  function setClock(host: string, isBack: boolean): void {
    if (isBack) clocksBack.add(host);
    else clocksBack.delete(host);
    noteSwitch(switches.clock.title, isBack, { by: host });
    saveSwitches();
  }

  function setGuard(id: MoneyGuard, isOn: boolean): void {
    if (isOn !== off.has(id)) return;
    const { title } = texts.guardTexts[id];
    note(`${title}: ${isOn ? 'on' : 'off'}`, { of: title, begins: !isOn });
    if (isOn) off.delete(id);
    else off.add(id);
    if (id !== 'key') return;
    const at = new Date().toISOString();
    const latest = keyOff.at(-1);
    if (!isOn) keyOff.push({ from: at, until: '9999' });
    else if (latest !== undefined) latest.until = at;
  }

  function saveSwitches(): void {
    const clocks = Object.fromEntries([...clocksBack].map((name) => [name, clockBackMs]));
    writeSwitches(world.switchFile, { off: [...off], keyOff, clocks });
  }

  async function inflictAll(seed: number): Promise<void> {
    const from = performance.now();
    const until = (at: number) => wait(at - (performance.now() - from));
    for (const mishap of texts.allOfIt(seed, hosts.length)) {
      await until(mishap.at);
      if (mishap.kind === 'deploy') void deploy();
      else if (mishap.kind === 'host') breakHost(mishap.host, mishap.what, mishap.forMs);
      else {
        setFault(mishap.fault, true);
        void wait(mishap.forMs).then(
          () => setFault(mishap.fault, false),
          () => {},
        );
      }
    }
    await until(texts.allOfItMs);
    for (const id of texts.faultIds) setFault(id, false);
    for (const host of clocksBack) setClock(host, false);
  }

  async function startAllOfIt(seed: number): Promise<void> {
    running = { seed, until: performance.now() + texts.allOfItMs };
    const what = `${switches.all.title}, seed ${seed}`;
    noteSwitch(what, true);
    await inflictAll(seed).catch(() => {});
    noteSwitch(what, false);
    running = undefined;
  }

  /** Replaces the hosts, unless that is in progress or no build can be made here. */
  async function deploy(): Promise<void> {
    if (isDeploying) return;
    try {
      build = nextBuild(build, join(folder, 'builds'));
    } catch (error) {
      return note(`Deployment: impossible here, ${String(error)}`);
    }
    isDeploying = true;
    const what = `Deployment of ${build.version}`;
    noteSwitch(what, true);
    for (const host of hosts) await host.replace(build);
    noteSwitch(what, false);
    isDeploying = false;
  }

  const chargesByInvoice = () => Map.groupBy<string, DemoCharge>(seen.ledger, ({ invoice }) => invoice);

  return {
    async act(action: Exclude<Action, { do: 'reset' }>): Promise<void> {
      switch (action.do) {
        case 'rate':
          perSecond = action.perSecond;
          return;
        case 'fault':
          return setFault(action.id, action.on);
        case 'host':
          return breakHost(action.host, action.what);
        case 'guards':
          for (const id of action.ids) setGuard(id, action.on);
          return saveSwitches();
        case 'deploy':
          return void deploy();
        case 'all':
          if (running === undefined) void startAllOfIt(action.seed);
      }
    },
    async story(id: string): Promise<DemoEvent[] | undefined> {
      const sentAt = sent.get(id);
      const [found] = sentAt === undefined ? [] : await observer.invoices([id]);
      if (sentAt === undefined || found === undefined) return undefined;
      const charged = (chargesByInvoice().get(id) ?? []).map(({ at, key }) => ({
        at,
        what: `charged under the key ${key}`,
        by: 'the ledger',
      }));
      return storyOf({
        sentAt,
        timeline: found.timeline,
        seen: [...(steps.get(id) ?? []), ...charged],
        world: events,
        goesOn: ['pending', 'claimed', 'processing'].includes(found.status),
        clockBackMs,
      });
    },
    state(): DemoState {
      const charges = chargesByInvoice();
      const twice = [...charges].filter(([, own]) => own.length > 1);
      const { due, paid, queue, ledger, leases } = seen;
      return {
        ready: true,
        perSecond,
        figures: { due, paid, charged: charges.size, twice: twice.length },
        queue,
        hosts: hosts.map(({ name, address, state, version }) => ({
          name,
          address,
          state: state(),
          version: version(),
          clockBack: clocksBack.has(name),
          leases: leases.get(name) ?? 0,
          calls: inHost.get(name)?.calls ?? 0,
          latest: inHost.get(name)?.latest ?? '',
        })),
        faults: texts.faultIds.map((id) => ({ ...texts.faultOf(id), id, on: on.has(id) })),
        hostFaults: texts.hostFaultIds.map((id) => ({ ...texts.hostFaults[id], id })),
        deployment: { ...switches.deploy, on: isDeploying },
        guards: moneyGuards.map((id) => ({ ...texts.guardTexts[id], id, on: !off.has(id) })),
        all: switches.all,
        allOfIt: running && {
          seed: running.seed,
          secondsLeft: Math.ceil(Math.max(0, running.until - performance.now()) / 1000),
        },
        invoices: invoices
          .toSorted((one, other) => other.id.localeCompare(one.id))
          .map(({ id, status, amountMinor, currency }) => ({
            id,
            status,
            amount: `${amountText(amountMinor, currency)} ${currency}`,
            charges: charges.get(id)?.length ?? 0,
          })),
        twice: twice.slice(-1).map(([invoice, own]) => ({ invoice, charges: own })),
        ledger: ledger.slice(-10).toReversed(),
        events: events
          .slice(-10)
          .toReversed()
          .map(({ at, what, by = '' }) => ({ at, what, by })),
      };
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await Promise.all(loops);
      await parts.disposeAsync();
    },
  };
}

function newInvoice(number: number) {
  return {
    id: `INV-${String(number).padStart(6, '0')}`,
    // A look-up lists the payments of a customer, but not of one with thousands.
    customerId: `cus_Demo${number % 100}`,
    amountMinor: 1_000 + ((number * 7_919) % 90_000),
    currency: 'EUR',
    dueAt: '2026-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };
}

function stepText(step: DemoStep): string {
  switch (step.kind) {
    case 'message':
      return step.delivery === 1 ? 'message' : `message, delivery ${step.delivery}`;
    case 'call':
      return `call, key ${step.key}`;
    case 'answer':
      return `answer: ${step.outcome}`;
  }
}
