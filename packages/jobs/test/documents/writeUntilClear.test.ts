import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryDocuments } from '../../../../test/memory/memoryDocuments.ts';
import { isFull } from '../../../../test/support/onlyInFull.ts';
import { leapingClock } from '../../../leases/src/testing/leapingClock.ts';
import {
  type DocumentStore,
  type Operation,
  StoreAway,
  type Transacted,
} from '../../src/documents/documentStore.ts';
import {
  type ConditionalWrite,
  type Patience,
  patience,
  type Written,
  writeUntilClear,
} from '../../src/documents/writeUntilClear.ts';

const partition = '00';

describe('one write', () => {
  const committed: Transacted = { kind: 'committed' };
  const refused = (...codes: number[]): Transacted => ({ kind: 'refused', codes });
  const cause = new Error('reset');
  const uncertain: Transacted = { kind: 'uncertain', cause };
  const away = new StoreAway('noAnswer', new Error('busy'));

  /** Runs a write of items `a`, `b` and `c` against these answers, and says what happened in order. */
  async function run(
    answers: readonly (Transacted | Error)[],
    changes: Partial<ConditionalWrite<string, string>> = {},
    limits: Patience = patience.thorough,
  ) {
    const clock = leapingClock();
    const events: string[] = [];
    const script = [...answers];
    const documents: DocumentStore = {
      async transact(_, operations) {
        events.push(`write ${operations.map((one) => (one.kind === 'patch' ? one.id : '')).join('')}`);
        const answer = script.shift() ?? uncertain;
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async read() {
        throw new Error('the loop reads through `reread` only');
      },
    };
    const write: ConditionalWrite<string, string> = {
      partition,
      items: ['a', 'b', 'c'],
      plan: (items) => items.map((id): Operation => ({ kind: 'patch', id, set: {} })),
      reread: async () => 'stored',
      keep: (items) => items,
      ...changes,
    };
    const reread: typeof write.reread = async (items) => {
      events.push(`read ${items.join('')}`);
      return write.reread(items);
    };
    const sleep = async (ms: number) => {
      events.push(`sleep ${ms}`);
      await clock.sleep(ms);
    };
    const written = await writeUntilClear(
      { documents, clock: { ...clock, sleep } },
      { ...write, reread },
      limits,
    );
    return { written, events, slept: clock.slept };
  }

  test('that is committed is done: nothing is read', async () => {
    const { written, events } = await run([committed]);
    expect(written).toEqual({ kind: 'written', items: ['a', 'b', 'c'], found: false });
    expect(events).toEqual(['write abc']);
  });

  test('without items is not sent', async () => {
    const { written, events } = await run([], { items: [] });
    expect(written).toEqual({ kind: 'nothingLeft' });
    expect(events).toEqual([]);
  });

  test('that is refused goes on at once with what is still ours', async () => {
    const kept: unknown[] = [];
    const { written, events } = await run([refused(424, 412, 424), committed], {
      keep(items, stored, codes) {
        kept.push([items, stored, codes]);
        return items.filter((item) => item !== 'b');
      },
      onRefused: async (_operations, codes) => void kept.push(codes),
    });
    expect(written).toEqual({ kind: 'written', items: ['a', 'c'], found: false });
    expect(events).toEqual(['write abc', 'read abc', 'write ac']);
    expect(kept).toEqual([
      [424, 412, 424],
      [['a', 'b', 'c'], 'stored', [424, 412, 424]],
    ]);
  });

  test('of which nothing is ours any more ends', async () => {
    const { written, events } = await run([refused(412, 424, 424)], { keep: () => [] });
    expect(written).toEqual({ kind: 'nothingLeft' });
    expect(events).toEqual(['write abc', 'read abc']);
  });

  test('that was refused, but is found applied, was the echo of our own', async () => {
    const { written } = await run([refused(412, 424, 424)], { isApplied: (stored) => stored === 'stored' });
    expect(written).toEqual({ kind: 'written', items: ['a', 'b', 'c'], found: true });
  });

  test('whose answer is lost waits and is looked up', async () => {
    const told: string[] = [];
    const { written, events } = await run([uncertain], {
      isApplied: () => true,
      onUnclear: () => void told.push('unclear'),
    });
    expect(written).toEqual({ kind: 'written', items: ['a', 'b', 'c'], found: true });
    expect(events).toEqual(['write abc', 'sleep 200', 'read abc']);
    expect(told).toEqual(['unclear']);
  });

  test('whose answer is lost, and that was not applied, is sent again', async () => {
    const codes: unknown[] = [];
    const { written, events } = await run([uncertain, committed], {
      isApplied: () => false,
      keep(items, _, ofRefusal) {
        codes.push(ofRefusal);
        return items.slice(1);
      },
    });
    expect(written).toEqual({ kind: 'written', items: ['b', 'c'], found: false });
    expect(events).toEqual(['write abc', 'sleep 200', 'read abc', 'write bc']);
    expect(codes).toEqual([[]]);
  });

  test('that cannot be told from another is judged item by item', async () => {
    const { written } = await run([uncertain], { keep: () => [] });
    expect(written).toEqual({ kind: 'nothingLeft' });
  });

  test('without a clear answer fails after seven tries, about fourteen seconds later', async () => {
    const { written, events, slept } = await run([]);
    expect(written).toEqual({ kind: 'unclear', items: ['a', 'b', 'c'], tries: 7, cause });
    expect(slept).toEqual([200, 400, 800, 1_600, 3_200, 4_000, 4_000]);
    expect(events.filter((event) => event === 'write abc')).toHaveLength(7);
    expect(events.at(-1)).toBe('read abc');
  });

  test('is found if even the last try was applied', async () => {
    let reads = 0;
    const { written } = await run([], { isApplied: () => ++reads === 7 });
    expect(written).toMatchObject({ kind: 'written', found: true });
  });

  test('whose reread is not answered waits again and goes on with all items', async () => {
    let reads = 0;
    const { written, events } = await run([uncertain, committed], {
      async reread() {
        reads++;
        throw away;
      },
    });
    expect(written).toEqual({ kind: 'written', items: ['a', 'b', 'c'], found: false });
    expect(events).toEqual(['write abc', 'sleep 200', 'read abc', 'sleep 200', 'write abc']);
    expect(reads).toBe(1);
    const reread = () => Promise.reject(away);
    const { written: never } = await run([], { reread });
    expect(never).toMatchObject({ kind: 'unclear', cause: away });
  });

  test('rejects if the store refuses the app, at a write or a reread', async () => {
    const denied = new StoreAway('accessDenied', new Error('403'));
    await expect(run([denied])).rejects.toBe(denied);
    const reread = () => Promise.reject(denied);
    await expect(run([uncertain], { reread })).rejects.toBe(denied);
    const mistake = new TypeError('a bug');
    await expect(run([uncertain], { reread: () => Promise.reject(mistake) })).rejects.toBe(mistake);
  });

  test('asks before each try whether it may, and sends nothing if not', async () => {
    let asked = 0;
    await run([uncertain, refused(412, 424, 424), committed], { beforeTry: () => void asked++ });
    expect(asked).toBe(3);
    const stop = new Error('the lease is gone');
    let left = 1;
    const tried = run([uncertain], {
      beforeTry() {
        if (left-- === 0) throw stop;
      },
    });
    await expect(tried).rejects.toBe(stop);
  });

  test('ends if the refusal is final', async () => {
    const final = new Error('fenced out');
    const onRefused = () => Promise.reject(final);
    await expect(run([refused(412, 424, 424)], { onRefused })).rejects.toBe(final);
  });

  describe('in brief', () => {
    test('is tried once more after a refusal', async () => {
      const { written, events } = await run([refused(412, 424, 424), committed], {}, patience.brief);
      expect(written).toMatchObject({ kind: 'written' });
      expect(events).toEqual(['write abc', 'read abc', 'write abc']);
    });

    test('fails after two refusals', async () => {
      const twice = [refused(412, 424, 424), refused(412, 424, 424)];
      const { written, events } = await run(twice, {}, patience.brief);
      expect(written).toMatchObject({ kind: 'unclear', items: ['a', 'b', 'c'] });
      expect(events).toEqual(['write abc', 'read abc', 'write abc', 'read abc']);
    });

    test('does not wait for a clear answer, to the write or to the reread', async () => {
      const { written, events } = await run([uncertain], {}, patience.brief);
      expect(written).toMatchObject({ kind: 'unclear', items: ['a', 'b', 'c'], cause });
      expect(events).toEqual(['write abc']);
      const reread = () => Promise.reject(away);
      const unread = await run([refused(412, 424, 424)], { reread }, patience.brief);
      expect(unread.written).toMatchObject({ kind: 'unclear', cause: away });
      expect(unread.events).toEqual(['write abc', 'read abc']);
    });
  });
});

describe('under random faults and competing writers', () => {
  /**
   * Condition on the items of a write: the versions it has read (a claim), or a state (a settlement, a mark).
   * `withoutName`: a state, and the write cannot tell what is its own.
   */
  type Kind = 'byVersion' | 'byState' | 'withoutName';

  /** `late`: no answer, and the transaction is applied only later, if it still can be. */
  type Fault = 'before' | 'after' | 'echo' | 'late' | undefined;

  /** Course of one write and of the reread that follows. */
  interface Step {
    fault: Fault;
    readAway: boolean;
    /** True if late transactions arrive before this write, and before this reread. */
    arrives: [boolean, boolean];
    /**
     * Changes by others before the write, and before the reread: take an item, or change it without taking
     * it.
     */
    rivals: [Rival[], Rival[]];
  }
  type Rival = { does: 'take' | 'touch'; item: number };

  interface Item extends Record<string, unknown> {
    id: string;
    owner: string;
    log: string[];
    _etag: string;
  }

  const ours = 'our-token';

  const rivals = fc.array(
    fc.record({ does: fc.constantFrom('take' as const, 'touch' as const), item: fc.nat(4) }),
    { maxLength: 2 },
  );
  const step: fc.Arbitrary<Step> = fc.record({
    fault: fc.constantFrom<Fault[]>(undefined, 'before', 'after', 'echo', 'late'),
    readAway: fc.boolean(),
    arrives: fc.tuple(fc.boolean(), fc.boolean()),
    rivals: fc.tuple(rivals, rivals),
  });

  const runs = fc.record({
    kind: fc.constantFrom<Kind[]>('byVersion', 'byState', 'withoutName'),
    limits: fc.constantFrom<Patience[]>(patience.thorough, patience.brief),
    count: fc.integer({ min: 1, max: 5 }),
    // Repeated for as long as the loop goes on.
    steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  });

  async function play({
    kind,
    limits,
    count,
    steps,
  }: {
    kind: Kind;
    limits: Patience;
    count: number;
    steps: Step[];
  }) {
    const clock = leapingClock();
    let fault: Exclude<Fault, 'late'>;
    const memory = memoryDocuments({
      fault() {
        const now = fault;
        fault = undefined;
        return now;
      },
    });
    const ids = Array.from({ length: count }, (_, n) => `item-${n}`);
    await memory.transact(
      partition,
      ids.map((id) => ({
        kind: 'create',
        document: { id, shard: partition, owner: 'free', log: [] } as { id: string },
      })),
    );
    const items = async () => (await memory.read(partition, ids)) as Item[];

    async function act({ does, item }: Rival): Promise<void> {
      const id = ids[item % count] ?? '';
      const set = does === 'take' ? { owner: 'rival' } : { touched: true };
      await memory.transact(partition, [
        { kind: 'patch', id, set, append: { path: 'log', value: `rival ${does}` } },
      ]);
    }

    const late: (readonly Operation[])[] = [];
    async function arrive(): Promise<void> {
      for (const operations of late.splice(0)) await memory.transact(partition, operations);
    }

    let sent = 0;
    const current = () => steps[(sent - 1) % steps.length];
    const documents: DocumentStore = {
      async transact(_, operations) {
        sent++;
        const now = current();
        if (now?.arrives[0] === true) await arrive();
        for (const rival of now?.rivals[0] ?? []) await act(rival);
        if (now?.fault === 'late') {
          late.push(operations);
          return { kind: 'uncertain', cause: new Error('no answer yet') };
        }
        fault = now?.fault;
        return memory.transact(partition, operations);
      },
      async read(_, wanted) {
        const now = current();
        if (now?.arrives[1] === true) await arrive();
        for (const rival of now?.rivals[1] ?? []) await act(rival);
        if (now?.readAway === true) throw new StoreAway('noAnswer', new Error('busy'));
        return memory.read(partition, wanted);
      },
    };

    const write: ConditionalWrite<Item, Item[]> = {
      partition,
      items: await items(),
      plan: (some) => [
        ...some.map(({ id, _etag }): Operation => ({
          kind: 'patch',
          id,
          ...(kind === 'byVersion'
            ? { version: _etag }
            : { where: [{ path: 'owner', is: '=', value: 'free' }] }),
          set: { owner: 'us' },
          append: { path: 'log', value: ours },
        })),
        // The order that goes with the items, in the same transaction.
        ...(kind === 'withoutName'
          ? []
          : [{ kind: 'create' as const, document: { id: ours, shard: partition, items: idsOf(some) } }]),
      ],
      reread: async (some) => (await documents.read(partition, idsOf(some))) as Item[],
      keep: (some, stored) =>
        some.filter(({ id, _etag }) => {
          const now = stored.find((one) => one.id === id);
          return kind === 'byVersion' ? now?._etag === _etag : now?.owner === 'free';
        }),
      ...(kind === 'withoutName'
        ? {}
        : { isApplied: (stored) => stored.some(({ log }) => log.includes(ours)) }),
    };
    const written = await writeUntilClear({ documents, clock }, write, limits);
    await arrive();
    const [order] = (await memory.read(partition, [ours])) as { items: string[] }[];
    return { written, stored: await items(), order, sent, slept: clock.slept };
  }

  test('each item is written at most once, and the outcome is what is stored', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(runs, async (run) => {
        const { written, stored, order, sent, slept } = await play(run);
        const outcome = `${run.kind} ${nameOf(written)}`;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);

        for (const { log } of stored) expect(count(log, ours)).toBeLessThanOrEqual(1);
        const writtenIds = stored.filter(({ log }) => log.includes(ours)).map(({ id }) => id);
        if (run.kind === 'withoutName') {
          // Our own earlier write cannot be told from another's, so items may have been written and then dropped.
          if (written.kind === 'written') {
            expect(writtenIds).toEqual(expect.arrayContaining(idsOf(written.items)));
          }
        } else {
          // The items and their order are one transaction.
          expect(order?.items ?? []).toEqual(writtenIds);
          switch (written.kind) {
            case 'written':
              expect(writtenIds).toEqual(idsOf(written.items));
              break;
            case 'nothingLeft':
              expect(writtenIds).toEqual([]);
              break;
            case 'unclear':
              // All of one of its tries, or none.
              if (writtenIds.length > 0) {
                expect(writtenIds).toEqual(expect.arrayContaining(idsOf(written.items)));
              }
          }
        }

        expect(sent).toBeLessThanOrEqual(run.limits.tries);
        if (run.limits === patience.brief) expect(slept).toEqual([]);
        // Once for the write and once for the reread.
        expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(2 * 14_200);
      }),
      { numRuns: isFull ? 3_000 : 1_000 },
    );
    // Every outcome must have occurred, or the property proves little.
    for (const kind of ['byVersion', 'byState']) {
      for (const name of ['written', 'found', 'nothingLeft', 'unclear']) {
        expect([...seen.keys()]).toContain(`${kind} ${name}`);
      }
    }
    for (const name of ['written', 'nothingLeft', 'unclear']) {
      expect([...seen.keys()]).toContain(`withoutName ${name}`);
    }
  });

  function nameOf(written: Written<unknown>): string {
    return written.kind === 'written' && written.found ? 'found' : written.kind;
  }
});

function idsOf(items: readonly { id: string }[]): string[] {
  return items.map(({ id }) => id);
}

function count(log: readonly string[], entry: string): number {
  return log.filter((one) => one === entry).length;
}
