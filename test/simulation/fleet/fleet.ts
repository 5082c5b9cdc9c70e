/** All hosts and the world that they share: how they are started, die, are stopped, and get their work. */
import { createTokenBucket } from '../../../local/stripe/tokenBucket.ts';
import { voidUndone } from '../../../src/invoice/timeline.ts';
import { turnWithinMs } from '../../../src/paying/paymentProvider.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import { createMachine, type Machine, type Timeline } from '../engine/machine.ts';
import { createNetwork } from '../engine/network.ts';
import type { History } from '../history.ts';
import { createCallChecks } from '../invariants/calls.ts';
import { createStartChecks } from '../invariants/starts.ts';
import { asInvoice, createStepChecks, lastDecision } from '../invariants/steps.ts';
import type { Report } from '../invariants/violation.ts';
import type { Conditions } from '../plan/conditions.ts';
import type { Fault } from '../plan/faults.ts';
import { isCalm, isReliable, type Plan, randomOf } from '../plan/plan.ts';
import { createDurable } from '../world/durable.ts';
import { createProvider } from '../world/provider.ts';
import { serviceBusQueue } from '../world/serviceBus.ts';
import { storageQueue } from '../world/storageQueue.ts';
import { createWorld } from '../world/world.ts';
import { concurrentBusCalls, concurrentItems, takeCommand, takeItem, takePoison } from './consumers.ts';
import { createHost, type Host } from './host.ts';
import { createNewerRelease } from './newerRelease.ts';
import { createTimers, type TimerName, timerNames } from './timers.ts';
import { createWebhook, webhookSecret } from './webhook.ts';

export interface FleetParts {
  plan: Plan;
  settings: Settings;
  timeline: Timeline;
  startedAt: number;
  history: History;
  conditions: Conditions;
  report: Report;
}

export type Fleet = ReturnType<typeof createFleet>;

const restartMs = 30_000;
/** Beside a webhook the list is not read up to its end: that has ten minutes to bring an event (ms). */
const deliveredWithinMs = 630_000;
/** So long before a refund is made, at most, the payment's refunds were listed (ms): its turn to be sent, and the call itself. */
const onItsWayMs = turnWithinMs + 10_000;
/** Name under which the tick that reads the provider's list is due. */
const newEvents = 'events';

export function createFleet({ plan, timeline, history, conditions, report, ...given }: FleetParts) {
  const random = randomOf(plan.seed, 'fleet');
  const byId = new Map(plan.invoices.map((invoice) => [invoice.id, invoice]));
  const hosts: (Host | undefined)[] = [];
  const newerRelease = createNewerRelease();
  let { settings } = given;
  /** False while the app is stopped: no process starts. */
  let runs = true;
  /** False while the functions that claim and charge are disabled. */
  let pays = true;

  const note = (who: string, what: string) => history.note(timeline.now, who, what);
  const checks = createStepChecks({
    report,
    provider: () => provider,
    invoice: (id) => invoices.get(id),
    calm: isCalm(plan),
    mayHoldBack: () => !isReliable(plan) || callChecks.providerFailed(),
    claiming: (machine) => callChecks.claiming(machine),
    pays: () => pays,
    // The answer to a void may come after somebody has asked for its undoing.
    isVoided: (id) => world.voided.has(id) && lastDecision(invoices.get(id)) !== voidUndone,
    madeByHand(refundId) {
      const madeAt = world.byHand.get(refundId);
      return madeAt !== undefined && isReliable(plan) && timeline.now - madeAt > onItsWayMs;
    },
  });
  const callChecks = createCallChecks({
    report,
    now: () => timeline.now,
    pause: () => world.pause(),
    rate: isCalm(plan) ? plan.rate : undefined,
    mayFreeze: plan.faults.some((fault) => 'frozen' in fault && fault.frozen),
    invoice: (id) => invoices.get(id),
  });
  const startChecks = createStartChecks(report, (id) => invoices.get(id));
  const provider = createProvider({
    timeline,
    random: randomOf(plan.seed, 'provider'),
    fateOf: (id, charge) => byId.get(id)?.fates[charge] ?? { kind: 'ok' },
    rate: () => conditions.rate(settings.allowance.accountRate),
    searchLagMs: () => plan.searchLagMs,
    searchAway: () => conditions.searchAway(),
    more: plan.outside ? randomOf(plan.seed, 'more of the provider') : undefined,
    takes: plan.tokenBucket
      ? createTokenBucket(settings.allowance.accountRate, () => timeline.now).take
      : undefined,
    watch: {
      newCharge(request, others) {
        note('provider', `charges ${request.idempotencyKey}`);
        checks.charging(request, others);
      },
      otherParameters({ idempotencyKey, invoiceId }) {
        // A copy of the database does not know under which method a key was sent and declined.
        if (!world.isRestored)
          report('key and parameters', `${idempotencyKey} stands for another charge`, invoiceId);
      },
      refunded(request, payment) {
        note('provider', `refunds ${request.refundId} of ${request.invoiceId}`);
        checks.refunding(request, payment);
      },
      canceled: (payment) => checks.canceled(payment),
      told(event) {
        if (plan.webhook) webhook.deliver(event);
        if (plan.listsEvents) awaitEvents();
      },
    },
  });
  const commands = serviceBusQueue(timeline, {
    lateness: () => conditions.lateness('serviceBus'),
    comesTwice: () => conditions.comesTwice('serviceBus'),
    deliver: (message, token) =>
      pays &&
      conditions.delivers('serviceBus') &&
      (takenByNewer(commands, message) ||
        hand('command', concurrentBusCalls, (host) => {
          note(host.machine.name, `receives message ${message.sequence}, delivery ${message.deliveryCount}`);
          takeCommand(consuming, host, message, token);
        })),
  });
  const queueParts = {
    lateness: () => conditions.lateness('storageQueue'),
    comesTwice: () => conditions.comesTwice('storageQueue'),
  };
  const workItems = storageQueue(timeline, 'item', {
    ...queueParts,
    deliver: (message) =>
      conditions.delivers('storageQueue') &&
      (takenByNewer(workItems, message) ||
        hand('item', concurrentItems, (host) => {
          note(host.machine.name, `receives ${message.id}, delivery ${message.dequeueCount}`);
          takeItem(consuming, host, message);
        })),
  });
  const poison = storageQueue(timeline, 'poison', {
    ...queueParts,
    deliver: (message) =>
      conditions.delivers('storageQueue') &&
      hand('poison', concurrentItems, (host) => takePoison(consuming, host, message)),
  });
  const world = createWorld(timeline, {
    provider,
    queues: { commands, workItems, poison },
    listsEvents: plan.listsEvents,
    staleMs: plan.faults.some(({ kind }) => kind === 'stale') ? () => conditions.staleMs() : undefined,
    keepsAll: plan.faults.some(({ kind }) => kind === 'restore'),
    onWrite: wrote,
    onEffect: (of) => (typeof of === 'string' ? callChecks.recordedMessage(of) : callChecks.recorded(of)),
  });
  const invoices = world.invoices;
  const network = createNetwork({
    timeline,
    fateOf(machine, service, name) {
      world.onCall?.(service, name);
      return conditions.fateOf(machine, service);
    },
    crash: (machine, downMs) => die(machine, 'crashes', downMs),
    note: (machine, service, name, fate) =>
      note(machine.name, fate === 'answered' ? `${service}: ${name}` : `${service}: ${name} (${fate})`),
  });
  const webhook = createWebhook(timeline, {
    random: randomOf(plan.seed, 'webhook'),
    isLost: () => conditions.losesEvent(),
    post(request, answered) {
      const host = pick(() => true);
      if (host === undefined) return false;
      host.machine.later(0, () =>
        host.run(
          'webhook',
          () => host.app.receiveEvent(request),
          (answer, failed) => answered(!failed && (answer as { status: number }).status === 200),
        ),
      );
      return true;
    },
  });
  const consuming = { world, network, random, hasRoom: offer };
  const durable = createDurable(timeline, (name, input, lost) => {
    const host = pays ? pick(() => true) : undefined;
    if (host === undefined) return undefined;
    host.onDeath.add(lost);
    return new Promise((resolve, reject) => {
      const work = () => (name === 'runJobGroup' ? host.app.runJobGroup(input) : host.app.endJobRun(input));
      host.run(name, work, (outcome, failed) => {
        host.onDeath.delete(lost);
        if (failed) reject(outcome);
        else resolve(JSON.parse(JSON.stringify(outcome ?? null)) as unknown);
      });
    });
  });
  const timers = createTimers(
    timeline,
    { processInvoices: plan.invoiceEveryMs, sweepOutbox: 30_000, trackPayments: 30_000 },
    fire,
  );

  return {
    world,
    report,
    /**
     * True if the timeline of an invoice has an entry with this reason. Of voids the last counts: one may have been undone, and
     * followed by that of somebody else.
     */
    says(invoiceId: string, reason: string): boolean {
      const { timeline = [] } = invoices.get(invoiceId) ?? {};
      const lastVoid = timeline.findLast(({ what }) => what === 'voided');
      return timeline.some(
        (entry) => entry.reason === reason && (entry.what !== 'voided' || entry === lastVoid),
      );
    },
    statusOf: (invoiceId: string) => invoices.get(invoiceId)?.status,
    shards: plan.shards,
    newerRelease,
    durable,
    network,
    timers,
    note,
    start(number: number): void {
      start(number);
    },
    /** Hosts that are alive. */
    alive: (): Host[] => hosts.filter((host) => host !== undefined).filter(({ machine }) => machine.alive),
    host: (number: number): Host | undefined => {
      const host = hosts[number];
      return host?.machine.alive === true ? host : undefined;
    },
    pick: () => pick(() => true),
    stop,
    stall(host: Host, ms: number, frozen: boolean): void {
      hang(host.machine, ms, frozen);
    },
    hang,
    /** The store of locks gives each lease to the next that asks, and somebody asks at once. */
    loseLeases(): void {
      void world.heldLocks().then((held) => {
        for (const { key } of held) world.locks.lose(key);
        for (const name of timerNames) fire(name);
      });
    },
    /** Instances that are started from now on have these settings. */
    deploy(changes: Partial<Settings>): void {
      settings = { ...settings, ...changes };
    },
    /** Puts the database back to a time (ms), while the app is stopped, for so long. Then it runs, and does not pay. */
    async restore(time: number, stoppedMs: number): Promise<void> {
      [runs, pays] = [false, false];
      for (const host of hosts) if (host !== undefined) die(host.machine, 'is stopped', stoppedMs);
      note('a person', `puts the database back to ${new Date(time).toISOString()}`);
      const { put, gone } = await world.restore(time);
      for (const { id } of gone) {
        timers.forgot(id);
        invoices.delete(id);
      }
      for (const document of put) {
        timers.wrote(document);
        const invoice = asInvoice(document);
        if (invoice !== undefined) invoices.set(invoice.id, invoice);
      }
      world.cursor.restore(time);
      world.isRestored = true;
      callChecks.restored(time);
      later(stoppedMs, () => {
        runs = true;
        for (let number = 0; number < plan.instances; number++) start(number);
      });
    },
    /** It claims and charges again. */
    pay(): void {
      pays = true;
      offer();
      if (plan.listsEvents) awaitEvents();
    },
    /** Everything has ended: what is parked as unclear may have been charged. */
    checkStarts: () => startChecks.atEnd([...invoices.values()]),
    /** Hosts may have room, or a queue may deliver again. */
    offer,
    later,
    receive,
  };

  function takenByNewer<Message extends { text: string }>(
    queue: { take(message: Message): void },
    message: Message,
  ): boolean {
    const takes = newerRelease.takes(message);
    if (takes) queue.take(message);
    return takes;
  }

  function hang(machine: Machine, ms: number, frozen: boolean): void {
    machine.stall(ms, frozen);
    later(ms + 1, offer);
  }

  function later(ms: number, run: () => void): void {
    timeline.events.add(timeline.now + ms, () => {
      timeline.running = undefined;
      run();
    });
  }

  function start(number: number): void {
    if (!runs || hosts[number]?.machine.alive === true) return;
    const machine = createMachine(timeline, `host-${number}`, {
      clockErrorMs: plan.clockErrorMs[number] ?? 0,
      monotonicAt: random.between(0, 1_000_000),
    });
    hosts[number] = createHost(number, machine, {
      world,
      network,
      settings: {
        ...settings,
        deploymentId: 'simulated',
        instanceId: machine.name,
        ...(plan.webhook ? { webhookSecrets: [webhookSecret] } : {}),
      },
      listsEvents: plan.listsEvents,
      checks: {
        ...callChecks,
        ...startChecks,
        sent: (sent, trustedUntil) => checks.sent(sent, trustedUntil),
      },
      onTimeout: (_, kind) => die(machine, `is ended by its host: ${kind} took too long`),
    });
    note(machine.name, 'starts');
    offer();
  }

  function die(machine: Machine, how: string, ms = restartMs): void {
    if (!machine.alive) return;
    machine.kill();
    note(machine.name, how);
    const number = hosts.findIndex((host) => host?.machine === machine);
    for (const lost of hosts[number]?.onDeath ?? []) lost();
    later(ms, () => start(number));
  }

  /** SIGTERM: the host goes on for a while without telling the app, then tells it, and kills it soon after. */
  function stop(
    host: Host,
    {
      graceMs,
      killMs,
      downMs: ms,
    }: Omit<Extract<Fault, { kind: 'stop' }>, 'at' | 'number' | 'kind' | 'host'>,
  ) {
    const { machine } = host;
    note(machine.name, 'is to stop');
    machine.later(graceMs, () => {
      host.listens = false;
      void host.app.stop().catch(() => {});
      machine.later(killMs, () => die(machine, 'is stopped', ms));
    });
    // One that stands still is killed all the same.
    later(graceMs + killMs + 1, () => die(machine, 'is killed', ms));
  }

  function pick(has: (host: Host) => boolean): Host | undefined {
    const able = hosts.filter(
      (host): host is Host =>
        host?.machine.alive === true && host.listens && !host.machine.stalled && has(host),
    );
    return able.length === 0 ? undefined : able[random.between(0, able.length - 1)];
  }

  function hand(kind: string, most: number, give: (host: Host) => void): boolean {
    const host = pick(({ busy }) => (busy.get(kind) ?? 0) < most);
    if (host === undefined) return false;
    give(host);
    return true;
  }

  function offer(): void {
    commands.offer();
    workItems.offer();
    poison.offer();
    durable.offer();
  }

  /** One host fires a timer; seldom two do, as when the lease of the first is lost. */
  function fire(name: TimerName): void {
    const isFree = ({ busy }: Host) => (busy.get(name) ?? 0) === 0;
    if (name === 'processInvoices' && !pays) return;
    const times = random.next() < 0.1 ? 2 : 1;
    for (let n = 0; n < times; n++) {
      const host = pick(isFree);
      if (host === undefined) return;
      host.machine.later(random.between(0, 50), () => {
        const since = timeline.now;
        host.run(
          name,
          () => host.app[name](),
          (outcome, failed) => {
            note(host.machine.name, `${name}: ${failed ? 'failed' : JSON.stringify(outcome)}`);
            if (name !== 'trackPayments') return;
            if (plan.webhook && plan.listsEvents) awaitMissed();
            else if (!failed && hasReadEvents(outcome) && isReadUntil(since))
              timers.found(name, newEvents, since);
          },
        );
      });
    }
  }

  /** The next tick reads the list; beside a webhook, one that comes once that has had its time. */
  function awaitEvents(): void {
    timers.wait('trackPayments', newEvents, timeline.now + (plan.webhook ? deliveredWithinMs : 0));
  }

  /** Beside a webhook the list is read once an hour, and the cursor says how far. */
  function awaitMissed(): void {
    const latest = provider.events.at(-1)?.at ?? 0;
    if (world.cursor.readUntil() >= Math.floor(latest / 1000))
      timers.found('trackPayments', newEvents, Number.POSITIVE_INFINITY);
    else timers.wait('trackPayments', newEvents, Math.max(latest, timeline.now) + deliveredWithinMs);
  }

  /** A backlog may take more than one tick. */
  function isReadUntil(time: number): boolean {
    const latest = provider.events.findLast(({ at }) => at <= time)?.at ?? 0;
    return world.cursor.readUntil() >= Math.floor(latest / 1000);
  }

  function wrote(after: StoredDocument, before: StoredDocument | undefined): void {
    timers.wrote(after);
    const invoice = asInvoice(after);
    if (invoice !== undefined) {
      invoices.set(invoice.id, invoice);
      const entry = invoice.timeline.at(-1);
      const from = asInvoice(before)?.status ?? 'new';
      note('store', `${invoice.id}: ${from} → ${invoice.status} [${entry?.what} ${entry?.batchId ?? ''}]`);
    }
    checks.wrote(after, before);
    if (invoice === undefined) return;
    callChecks.wrote(invoice, asInvoice(before));
    startChecks.wrote(invoice, asInvoice(before));
  }

  /** The receiver of notifications. */
  function receive(init: RequestInit, machine: Machine | undefined): Promise<Response> {
    if (machine === undefined) return Promise.reject(new Error('nobody runs'));
    const id = (init.headers as Record<string, string>)['webhook-id'] ?? '';
    const { type, data } = JSON.parse(typeof init.body === 'string' ? init.body : '{}') as {
      type: string;
      data: { invoiceId: string };
    };
    const { invoiceId } = data;
    const recorded = world.announcedAt.get(id);
    if (recorded !== undefined && recorded < timeline.now - 5_000 && !mayOverlap())
      report('effect once', `${type} ${id} is sent, and was recorded`, invoiceId);
    const taken = () => {
      world.notifications.push({ id, type, invoiceId, at: timeline.now });
      return { ok: true, status: 200, body: null } as Response;
    };
    return network.call(
      machine,
      'webhook',
      `notify ${type} of ${invoiceId}`,
      taken,
      init.signal ?? undefined,
    );
  }

  /** True if two processes may believe that they hold one lease. */
  function mayOverlap(): boolean {
    return plan.faults.some(
      (fault) =>
        fault.kind === 'leasesLost' || ((fault.kind === 'stall' || fault.kind === 'hang') && fault.frozen),
    );
  }
}

/** Null: another instance did, or payments are paused. */
function hasReadEvents(outcome: unknown): boolean {
  return outcome !== null && (outcome as { notListed?: string }).notListed === undefined;
}
