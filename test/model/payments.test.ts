import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isUnclear } from '../../src/after/reconciliation.ts';
import { type Fate, hour, minute, World } from './world.ts';

/** A step picks its target by number, so that it applies to any state of the world. */
type Step = (world: World) => void | Promise<void>;

class Command implements fc.AsyncCommand<World, object> {
  readonly #name: string;
  readonly #step: Step;
  constructor(name: string, step: Step) {
    this.#name = name;
    this.#step = step;
  }
  check(): boolean {
    return true;
  }
  async run(world: World): Promise<void> {
    await this.#step(world);
    checkInvariants(world);
  }
  toString(): string {
    return this.#name;
  }
}

/** Counts from the newest, which is picked most often: most runs move on, and some return to what is long past. */
const pick = <T>(all: readonly T[], n: number): T | undefined => all.at(-1 - (n % Math.max(1, all.length)));
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(9) });
const fate = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Fate>('answered') },
  { weight: 4, arbitrary: fc.constantFrom<Fate>('lostBefore', 'lostAfter', 'late') },
  { weight: 1, arbitrary: fc.constantFrom<Fate>('rateLimited', 'softDecline', 'hardDecline') },
);
const spans = [1_000, 6_000, 11_000, 30_000, 6 * minute, 6 * minute, 22.99 * hour, 25 * hour];

const commands = [
  fc.constant(new Command('read', (world) => world.read())),
  which.map(
    (n) =>
      new Command(`claim(${n})`, (world) => {
        const run = pick(world.runs, n);
        if (run !== undefined) world.claim(run);
      }),
  ),
  fc.tuple(which, fc.constantFrom('sent', 'failed', 'refused'), fc.boolean()).map(
    ([n, kind, marked]) =>
      new Command(`dispatch(${n}, ${kind}, ${marked})`, (world) => {
        const message = pick([...world.outbox.values()], n);
        const result = kind === 'sent' ? { kind } : { kind, error: 'x' };
        if (message !== undefined) world.dispatch(message, result, marked);
      }),
  ),
  which.map(
    (n) =>
      new Command(`start(${n})`, (world) => {
        const batch = pick(world.queue, n);
        if (batch !== undefined) world.start(batch);
      }),
  ),
  fc.tuple(which, which, fate).map(
    ([n, m, its]) =>
      new Command(`call(${n}, ${m}, ${its})`, async (world) => {
        const consumer = pick(world.consumers, n);
        const command = pick(consumer?.toPay ?? [], m);
        if (consumer !== undefined && command !== undefined) await world.call(consumer, command, its);
      }),
  ),
  which.map(
    (n) =>
      new Command(`settle(${n})`, (world) => {
        const consumer = pick(world.consumers, n);
        if (consumer !== undefined) world.settle(consumer);
      }),
  ),
  which.map(
    (n) =>
      new Command(`return(${n})`, (world) => {
        const consumer = pick(world.consumers, n);
        if (consumer !== undefined) world.giveBack(consumer);
      }),
  ),
  fate.map(
    (its) =>
      new Command(`die after calling(${its})`, async (world) => {
        world.advance(6 * minute);
        world.read();
        const run = world.runs.at(-1);
        if (run !== undefined) world.claim(run);
        for (const message of world.outbox.values()) world.dispatch(message, { kind: 'sent' }, true);
        const batch = world.queue.at(-1);
        if (batch !== undefined) world.start(batch);
        const consumer = world.consumers.at(-1);
        if (consumer === undefined) return;
        for (const command of consumer.toPay) await world.call(consumer, command, its);
      }),
  ),
  fc
    .constantFrom(...spans)
    .map((ms) => new Command(`advance(${ms / minute} min)`, (world) => world.advance(ms))),
];

/** Holds after every step, whatever has happened. These are so many checks that `expect` would take most of the time. */
function checkInvariants(world: World): void {
  const keys = world.ledger.map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, 'at most one charge per idempotency key');
  for (const invoice of world.invoices.values()) {
    const { id, status, amountMinor, payment } = invoice;
    const charges = world.ledger.filter(({ invoiceId }) => invoiceId === id);
    assert.ok(charges.length <= 1, `${id}: at most one charge`);
    const [charge] = charges;
    if (charge !== undefined) assert.equal(charge.amountMinor, amountMinor, `${id}: the amount`);
    if (status === 'paid') assert.equal(payment.id, charge?.id, `${id}: paid means charged`);
    if (status === 'declined') assert.equal(charge, undefined, `${id}: declined means not charged`);
    assert.ok(payment.id === undefined || status === 'paid', `${id}: a payment id means paid`);
    if (status === 'parked' && (charge !== undefined || payment.unknownSince !== undefined)) {
      const ordered = world.lookUps.filter(({ invoiceId }) => invoiceId === id);
      // One that the stage would act on, rather than skip as decided in the meantime.
      const inForce = ordered.some(({ keyNumber }) => isUnclear(invoice, keyNumber));
      assert.ok(inForce, `${id}: parked while it may have been charged means a look-up is ordered`);
    }
  }
}

/** Runs on without faults until nothing is left to do. */
async function drain(world: World): Promise<void> {
  for (let rounds = 0; rounds < 200; rounds++) {
    if ([...world.invoices.values()].every(({ actionableAt }) => actionableAt === undefined)) return;
    world.advance(6 * minute);
    world.read();
    for (const run of world.runs.splice(0)) world.claim(run);
    for (const message of world.outbox.values()) world.dispatch(message, { kind: 'sent' }, true);
    for (const batch of world.queue) world.start(batch);
    for (const consumer of world.consumers) {
      for (const command of consumer.toPay) await world.call(consumer, command, 'answered');
      world.settle(consumer);
    }
    checkInvariants(world);
    const next = [...world.invoices.values()].map(({ actionableAt }) => Date.parse(actionableAt ?? ''));
    const wait = Math.min(...next.filter((at) => at > world.now)) - world.now;
    if (Number.isFinite(wait) && wait > 6 * minute) world.advance(wait);
  }
  throw new Error('it never comes to rest');
}

/**
 * Number of times that each final state was reached: unless the runs reach all of them, they prove nothing.
 */
const ends = new Map<string, number>();

test('whatever dies, comes twice, late or never: one charge at most, paid means charged, money is conserved', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.commands(commands, { maxCommands: 150, size: 'max' }),
      async (count, steps) => {
        const world = new World(count);
        await fc.asyncModelRun(() => ({ model: world, real: {} }), steps);
        await drain(world);
        world.advance(2 * minute);
        for (const { id, status, reason = '' } of world.invoices.values()) {
          const charged = world.ledger.some(({ invoiceId }) => invoiceId === id);
          const end = `${status}${status === 'parked' && charged ? ', charged' : ''}`;
          ends.set(end, (ends.get(end) ?? 0) + 1);
          if (status === 'paid') continue;
          // A charged invoice that is not paid must say that its outcome is unknown, and a look-up finds the payment.
          if (charged) {
            expect(reason).toMatch(/unknown|known outcome|older than 23 h/);
            expect(world.find(id).kind).toBe('found');
          }
        }
        const paid = [...world.invoices.values()].filter(({ status }) => status === 'paid');
        const unclear = [...world.invoices.values()].filter(
          ({ id, status }) => status === 'parked' && world.find(id).kind === 'found',
        );
        const sum = (amounts: { amountMinor: number }[]) =>
          amounts.reduce((total, { amountMinor }) => total + amountMinor, 0);
        expect(sum(world.ledger)).toBe(sum([...paid, ...unclear]));
      },
    ),
    { numRuns: 1_000 },
  );
  expect([...ends.keys()]).toEqual(expect.arrayContaining(['paid', 'declined', 'parked', 'parked, charged']));
}, 60_000);
