import { describe, expect, test } from 'vitest';
import type { Patch } from '../../src/documents/documentStore.ts';
import { toOpaque } from '../../src/documents/pages.ts';
import { formatVersion, type Unreadable } from '../../src/documents/storedDocuments.ts';
import type { DispatchDecision } from '../../src/outbox/outboxMessage.ts';
import { newOutboxMessage, type OutboxMessage, type OutboxStatus } from '../../src/outbox/outboxMessage.ts';
import type { OutboxStore } from '../../src/outbox/outboxStore.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { leapingClock } from '../support/leapingClock.ts';
import { type Deviation, deviates } from '../support/officialEmulators.ts';
import type { StoreSubject } from '../support/storeSubject.ts';

const week = 7 * 24 * 3600;

/** How an outbox store behaves. Each store must pass it. */
export function outboxStoreContract({ open, canFail, onEmulator }: StoreSubject): void {
  /** Tests of what the official emulator gets wrong. */
  const known = (deviation: Deviation, body: () => Promise<void>) => deviates(deviation, body, onEmulator);

  /** An outbox with an invoice beside its messages: that one must never matter. */
  async function world() {
    const opened = await open();
    const { documents } = opened;
    const clock = leapingClock();
    const now = clock.now();
    const unreadable: Unreadable[] = [];
    const outbox = opened.outbox({ clock, onUnreadable: (found) => void unreadable.push(found) });
    const { _etag, ...invoice } = anInvoice({ id: 'inv-1', status: 'parked' });
    await create(invoice);

    async function create<D extends { id: string; shard: string }>(document: D): Promise<void> {
      const answer = await documents.transact(document.shard, [{ kind: 'create', document }]);
      expect(answer).toEqual({ kind: 'committed' });
    }

    /** Stores messages that were written just now and are due at once, unless it says otherwise; returns them. */
    async function put(...stored: Partial<OutboxMessage>[]): Promise<OutboxMessage[]> {
      const messages = stored.map((changes): OutboxMessage => {
        const content = { id: 'm-1', shard: '00', destination: 'work-items', body: ['a body'] };
        return {
          ...newOutboxMessage({ ...content, ...changes }, now),
          nextAttemptAt: iso(now),
          ...changes,
        };
      });
      for (const message of messages) await create(message);
      return messages;
    }

    /** As a message is stored, without what the store adds to each document. */
    async function read({ id, shard }: { id: string; shard: string }): Promise<Record<string, unknown>> {
      const [found] = (await documents.read(shard, [id])) as Record<string, unknown>[];
      return Object.fromEntries(Object.entries(found ?? {}).filter(([name]) => !name.startsWith('_')));
    }

    /** What somebody else does to a message. */
    const touch = ({ id, shard }: { id: string; shard: string }, set: NonNullable<Patch['set']>) =>
      documents.transact(shard, [{ kind: 'patch', id, set }]);

    return { ...opened, outbox, clock, now, unreadable, create, put, read, touch };
  }

  describe('due', () => {
    test('pending messages of all partitions whose time has come, longest waiting first', async () => {
      const { outbox, put, now } = await world();
      await put(
        { id: 'third', nextAttemptAt: iso(now) },
        { id: 'later', nextAttemptAt: iso(now + 1) },
        { id: 'first', shard: '01', nextAttemptAt: iso(now - 3_000) },
        { id: 'second', shard: '02', nextAttemptAt: iso(now - 2_000) },
      );
      const { messages, more } = await outbox.due({ now: iso(now), limit: 10 });
      expect(idsOf(messages)).toEqual(['first', 'second', 'third']);
      expect(more).toBe(false);
    });

    test('messages come as they are stored', async () => {
      const { outbox, put, now } = await world();
      const stored = await put({
        notBefore: iso(now),
        attempts: 2,
        lastError: 'down',
        body: { any: ['json'] },
      });
      expect(await outbox.due({ now: iso(now), limit: 10 })).toEqual({ messages: stored, more: false });
    });

    test('none but pending ones', async () => {
      const { outbox, put, now } = await world();
      const stored = await put({ id: 'sent' }, { id: 'parked' });
      const [sent, parked] = stored;
      if (!sent || !parked) throw new Error('expected two');
      await outbox.mark([
        { message: sent, decision: { kind: 'dispatched' } },
        { message: parked, decision: { kind: 'parked', attempts: 1, error: 'too large' } },
      ]);
      expect(await outbox.due({ now: iso(now), limit: 10 })).toEqual({ messages: [], more: false });
    });

    test('as many as asked for, and whether there may be others', async () => {
      const { outbox, put, now } = await world();
      await put(...Array.from({ length: 3 }, (_, n) => ({ id: `m-${n}`, nextAttemptAt: iso(now - 10 + n) })));
      const due = async (limit: number) => {
        const { messages, more } = await outbox.due({ now: iso(now), limit });
        return { ids: idsOf(messages), more };
      };
      expect(await due(2)).toEqual({ ids: ['m-0', 'm-1'], more: true });
      expect(await due(3)).toEqual({ ids: ['m-0', 'm-1', 'm-2'], more: true });
      expect(await due(4)).toEqual({ ids: ['m-0', 'm-1', 'm-2'], more: false });
    });

    test.each([1, 2, 3, 100])('what cannot be read hides no other, and is reported (%i)', async (limit) => {
      const { outbox, put, unreadable, now } = await world();
      await put(
        { id: 'broken-1', attempts: 0.5, nextAttemptAt: iso(now - 9) },
        { id: 'newer', version: formatVersion + 1, nextAttemptAt: iso(now - 8) },
        { id: 'broken-2', attempts: 0.5, nextAttemptAt: iso(now - 7) },
        { id: 'good', version: formatVersion, nextAttemptAt: iso(now - 6) },
      );
      const { messages } = await outbox.due({ now: iso(now), limit });
      expect(idsOf(messages)).toEqual(['good']);
      expect(unreadable.map(({ type, id }) => `${type} ${id}`)).toEqual([
        'outboxMessage broken-1',
        'outboxMessage broken-2',
      ]);
    });

    test('a store full of what cannot be read has nothing due', async () => {
      const { outbox, put, now } = await world();
      await put({ id: 'a', attempts: 0.5 }, { id: 'b', attempts: 0.5 }, { id: 'c', attempts: 0.5 });
      expect(await outbox.due({ now: iso(now), limit: 2 })).toEqual({ messages: [], more: false });
    });
  });

  describe('mark', () => {
    test('a message that was sent: it is dispatched, and expires in a week', async () => {
      const { outbox, put, read } = await world();
      const [message] = await put({});
      if (!message) throw new Error('expected one');
      expect(await outbox.mark([{ message, decision: { kind: 'dispatched' } }])).toEqual({ unclear: 0 });
      const { nextAttemptAt: _, ...rest } = message;
      expect(await read(message)).toEqual({ ...rest, status: 'dispatched', ttl: week });
    });

    test('a message that failed: it is tried again later', async () => {
      const { outbox, put, read, now } = await world();
      const [message] = await put({ attempts: 2 });
      if (!message) throw new Error('expected one');
      const decision = { kind: 'retry', attempts: 3, at: iso(now + 4_000), error: 'down' } as const;
      expect(await outbox.mark([{ message, decision }])).toEqual({ unclear: 0 });
      const changed = { attempts: 3, nextAttemptAt: decision.at, lastError: 'down' };
      expect(await read(message)).toEqual({ ...message, ...changed });
    });

    test('a message that is given up: it is parked, and never expires', async () => {
      const { outbox, put, read } = await world();
      const [message] = await put({ attempts: 9 });
      if (!message) throw new Error('expected one');
      const decision = { kind: 'parked', attempts: 10, error: 'down' } as const;
      expect(await outbox.mark([{ message, decision }])).toEqual({ unclear: 0 });
      const { nextAttemptAt: _, ...rest } = message;
      expect(await read(message)).toEqual({ ...rest, status: 'parked', attempts: 10, lastError: 'down' });
    });

    test('a message that is left alone stays as it is', async () => {
      const { outbox, put, documents } = await world();
      const [message] = await put({});
      if (!message) throw new Error('expected one');
      const before = await documents.read('00', ['m-1']);
      expect(await outbox.mark([{ message, decision: { kind: 'left' } }])).toEqual({ unclear: 0 });
      expect(await documents.read('00', ['m-1'])).toEqual(before);
    });

    test('fields of a newer minor release are kept', async () => {
      const { outbox, put, read } = await world();
      const [message] = await put({ newer: { at: 'the top' } } as Partial<OutboxMessage>);
      if (!message) throw new Error('expected one');
      const error = 'too large';
      await outbox.mark([{ message, decision: { kind: 'parked', attempts: 1, error } }]);
      await outbox.redrive('m-1', iso(0));
      expect(await read(message)).toMatchObject({ newer: { at: 'the top' }, status: 'pending' });
    });

    test('many, in several partitions', async () => {
      const { outbox, put } = await world();
      const stored = await put(
        ...Array.from({ length: 130 }, (_, n) => ({ id: `m-${n}`, shard: n < 110 ? '00' : '01' })),
      );
      expect(await outbox.mark(stored.map(dispatched))).toEqual({ unclear: 0 });
      expect(await outbox.countByStatus()).toEqual(new Map([['dispatched', 130]]));
    });

    test.each([
      ['first', 0],
      ['last', 1],
    ])(
      'a message twice, sent and failed (sent %s): it is dispatched, and so are the others',
      async (_, sent) => {
        const { outbox, put, read, now } = await world();
        const stored = await put({ id: 'm-1' }, { id: 'twice' }, { id: 'm-2' }, { id: 'm-3', shard: '01' });
        const [first, message, ...others] = stored;
        if (!first || !message) throw new Error('expected four');
        const decision = { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'down' } as const;
        const both = [dispatched(message), { message, decision }];
        if (sent === 1) both.reverse();
        const marks = [dispatched(first), ...both, ...others.map(dispatched)];
        expect(await outbox.mark(marks)).toEqual({ unclear: 0 });
        for (const each of stored)
          expect(await read(each)).toMatchObject({ status: 'dispatched', attempts: 0 });
      },
    );

    test('nothing', async () => {
      const { outbox } = await world();
      expect(await outbox.mark([])).toEqual({ unclear: 0 });
    });

    test(
      'not what somebody else has recorded since; the others are marked',
      known('conditions', async () => {
        const { outbox, put, touch, read, now } = await world();
        const stored = await put(
          { id: 'sent' },
          { id: 'failed' },
          { id: 'mine' },
          { id: 'parked' },
          { id: 'mine-too' },
        );
        const [sent, failed, , parked] = stored;
        if (!sent || !failed || !parked) throw new Error('expected five');
        await touch(sent, { status: 'dispatched' });
        await touch(failed, { attempts: 1, nextAttemptAt: iso(now + 1_000) });
        await touch(parked, { status: 'parked' });
        const before = await Promise.all([sent, failed, parked].map(read));
        const missing = { ...sent, id: 'missing' };
        expect(await outbox.mark([...stored, missing].map(dispatched))).toEqual({ unclear: 0 });
        expect(await Promise.all([sent, failed, parked].map(read))).toEqual(before);
        for (const id of ['mine', 'mine-too']) {
          expect(await read({ id, shard: '00' })).toMatchObject({ status: 'dispatched', ttl: week });
        }
      }),
    );

    test(
      'of two marks at once one is recorded',
      known('races', async () => {
        const { outbox, put, read, now } = await world();
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        const decisions = [
          { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'one' },
          { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'two' },
        ] as const;
        const both = await Promise.all(
          decisions.map((decision) => outbox.mark(stored.map((message) => ({ message, decision })))),
        );
        expect(both).toEqual([{ unclear: 0 }, { unclear: 0 }]);
        const marked = await Promise.all(stored.map(read));
        expect(new Set(marked.map(({ lastError }) => lastError)).size).toBe(1);
        expect(marked).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(['before', 'after'] as const)(
        '%s the write: unclear, and no time is lost',
        async (answer) => {
          const { outbox, put, read, lose, clock } = await world();
          const stored = await put({ id: 'm-1' }, { id: 'm-2' });
          await lose(answer);
          expect(await outbox.mark(stored.map(dispatched))).toEqual({ unclear: 2 });
          expect(clock.slept).toEqual([]);
          const status = answer === 'after' ? 'dispatched' : 'pending';
          for (const message of stored) expect(await read(message)).toMatchObject({ status });
        },
      );

      test('a write that the client repeats is recorded once', async () => {
        const { outbox, put, read, lose, now } = await world();
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        await lose('echo');
        const decision: DispatchDecision = { kind: 'retry', attempts: 1, at: iso(now), error: 'down' };
        expect(await outbox.mark(stored.map((message) => ({ message, decision })))).toEqual({ unclear: 0 });
        for (const message of stored) {
          expect(await read(message)).toMatchObject({ attempts: 1, lastError: 'down' });
        }
      });

      test('one partition without an answer does not hold up the others', async () => {
        const { outbox, put, lose, now } = await world();
        const stored = await put({ id: 'm-1', shard: '01' }, { id: 'm-2', shard: '02' });
        await lose('before');
        expect(await outbox.mark(stored.map(dispatched))).toEqual({ unclear: 1 });
        expect((await outbox.due({ now: iso(now), limit: 10 })).messages).toHaveLength(1);
      });

      test('if somebody else was faster and the reread fails: unclear, and no time is lost', async () => {
        const { outbox, put, touch, failReads, clock } = await world();
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        await touch({ id: 'm-1', shard: '00' }, { attempts: 1 });
        await failReads();
        expect(await outbox.mark(stored.map(dispatched))).toEqual({ unclear: 2 });
        expect(clock.slept).toEqual([]);
      });

      test('a store that refuses the app: they are unclear, and nothing rejects', async () => {
        const { denied, put, clock } = await world();
        const stored = await put({ id: 'm-1' });
        expect(await denied.outbox({ clock }).mark(stored.map(dispatched))).toEqual({ unclear: 1 });
      });
    });
  });

  describe('list', () => {
    async function pages(
      outbox: OutboxStore,
      query: { status?: OutboxStatus; pageSize: number },
    ): Promise<string[][]> {
      const found: string[][] = [];
      let continuation: string | undefined;
      do {
        const next = continuation === undefined ? {} : { continuation };
        const page = await outbox.list({ ...query, ...next });
        found.push(idsOf(page.items));
        ({ continuation } = page);
      } while (continuation !== undefined);
      return found;
    }

    test.each<[OutboxStatus | undefined, string[]]>([
      ['pending', ['pending-1', 'pending-2', 'pending-3']],
      ['parked', ['parked-1', 'parked-2', 'parked-3']],
      ['dispatched', ['dispatched-3', 'dispatched-2', 'dispatched-1']],
      [
        undefined,
        [
          'dispatched-3',
          'parked-3',
          'pending-3',
          'dispatched-2',
          'parked-2',
          'pending-2',
          'dispatched-1',
          'parked-1',
          'pending-1',
        ],
      ],
    ])('%s messages of all partitions, in their order', async (status, expected) => {
      const { outbox, put, now } = await world();
      for (const at of [2, 1, 3]) {
        for (const [n, each] of (['pending', 'parked', 'dispatched'] as const).entries()) {
          const createdAt = iso(now + at * 1_000 + n);
          await put({ id: `${each}-${at}`, shard: `0${(at + n) % 3}`, status: each, createdAt });
        }
      }
      const query = status === undefined ? {} : { status };
      expect(await pages(outbox, { ...query, pageSize: 100 })).toEqual([expected]);
      const inTwos = await pages(outbox, { ...query, pageSize: 2 });
      expect(inTwos.flat()).toEqual(expected);
      expect(inTwos.map((page) => page.length)).toEqual(
        Array.from({ length: Math.ceil(expected.length / 2) }, (_, n) =>
          Math.min(2, expected.length - 2 * n),
        ),
      );
    });

    test.each([1, 2, 3, 4, 5])('messages of one millisecond come once each (%i a page)', async (pageSize) => {
      const { outbox, put, now } = await world();
      const ids = Array.from({ length: 9 }, (_, n) => `m-${n}`);
      await put(
        ...ids.map((id, n) => ({
          id,
          shard: `0${n % 2}`,
          createdAt: iso(now + (n < 2 ? 0 : n < 7 ? 1 : 2)),
        })),
      );
      for (const status of [undefined, 'pending'] as const) {
        const found = await pages(outbox, { ...(status === undefined ? {} : { status }), pageSize });
        expect(found.flat().toSorted()).toEqual(ids);
        expect(found.every((page) => page.length <= pageSize)).toBe(true);
      }
    });

    test('messages come without what they carry', async () => {
      const { outbox, put, now } = await world();
      const [message] = await put({ notBefore: iso(now), attempts: 2, lastError: 'down', ttl: week });
      if (!message) throw new Error('expected one');
      const { body: _, ttl: __, ...entry } = message;
      expect(await outbox.list({ pageSize: 10 })).toEqual({ items: [entry] });
    });

    test('an empty outbox has one empty page', async () => {
      const { outbox } = await world();
      expect(await outbox.list({ pageSize: 10 })).toEqual({ items: [] });
      expect(await outbox.list({ pageSize: 10, status: 'parked' })).toEqual({ items: [] });
    });

    test.each([1, 100])('what cannot be read is left out, and the pages go on (%i)', async (pageSize) => {
      const { outbox, put, now } = await world();
      await put(
        { id: 'a', createdAt: iso(now + 1) },
        { id: 'newer', version: formatVersion + 1, createdAt: iso(now + 2) },
        { id: 'broken', attempts: 0.5, createdAt: iso(now + 3) },
        { id: 'b', createdAt: iso(now + 4) },
      );
      expect((await pages(outbox, { status: 'pending', pageSize })).flat()).toEqual(['a', 'b']);
      expect((await pages(outbox, { pageSize })).flat()).toEqual(['b', 'a']);
    });

    test.each(['nonsense', '', toOpaque('[]'), toOpaque('["yesterday",1]'), toOpaque('"12"')])(
      'refuses a continuation that it did not give: "%s"',
      async (continuation) => {
        const { outbox } = await world();
        await expect(outbox.list({ pageSize: 10, continuation })).rejects.toMatchObject({
          name: 'BadContinuation',
        });
      },
    );
  });

  describe('redrive', () => {
    test('a parked message is pending again, as if it had been written then', async () => {
      const { outbox, put, read, now } = await world();
      const at = iso(now + 60_000);
      const [message] = await put({ shard: '01', status: 'parked', attempts: 10, lastError: 'down' });
      if (!message) throw new Error('expected one');
      const changed = { status: 'pending', attempts: 0, nextAttemptAt: at, notBefore: at };
      const { body: _, ...entry } = message;
      expect(await outbox.redrive('m-1', at)).toEqual({
        kind: 'redriven',
        message: { ...entry, ...changed },
      });
      expect(await read(message)).toEqual({ ...message, ...changed });
      expect(idsOf((await outbox.due({ now: at, limit: 10 })).messages)).toEqual(['m-1']);
      expect(await outbox.oldestPending()).toBe(at);
    });

    test.each(['pending', 'dispatched'] as const)('a message that is %s is refused', async (status) => {
      const { outbox, put, read } = await world();
      const [message] = await put({ status });
      if (!message) throw new Error('expected one');
      expect(await outbox.redrive('m-1', iso(0))).toEqual({ kind: 'refused', status });
      expect(await read(message)).toEqual(message);
    });

    test.each(['missing', 'inv-1', '', 'a/b', 'x'.repeat(2_000)])('there is no message "%s"', async (id) => {
      const { outbox } = await world();
      expect(await outbox.redrive(id, iso(0))).toEqual({ kind: 'notFound' });
    });

    test(
      'of two at once one redrives it',
      known('races', async () => {
        const { outbox, put } = await world();
        await put({ status: 'parked' });
        const both = await Promise.all([outbox.redrive('m-1', iso(1)), outbox.redrive('m-1', iso(1))]);
        expect(both.map(({ kind }) => kind).toSorted()).toEqual(['redriven', 'refused']);
        expect(both).toContainEqual({ kind: 'refused', status: 'pending' });
      }),
    );

    test.runIf(canFail)('without an answer it rejects, and may have been done', async () => {
      const { outbox, put, lose } = await world();
      await put({ status: 'parked' });
      const away = { name: 'StoreAway', reason: 'noAnswer' };
      await lose('before');
      await expect(outbox.redrive('m-1', iso(0))).rejects.toMatchObject(away);
      expect(await outbox.parkedCount()).toBe(1);
      await lose('after');
      await expect(outbox.redrive('m-1', iso(0))).rejects.toMatchObject(away);
      expect(await outbox.redrive('m-1', iso(0))).toEqual({ kind: 'refused', status: 'pending' });
    });
  });

  describe('figures', () => {
    test('of an empty outbox', async () => {
      const { outbox } = await world();
      expect(await outbox.oldestPending()).toBeUndefined();
      expect(await outbox.countByStatus()).toEqual(new Map());
      expect(await outbox.parkedCount()).toBe(0);
    });

    test('of all partitions', async () => {
      const { outbox, put, now } = await world();
      const at = (seconds: number) => iso(now + seconds * 1_000);
      await put(
        { id: 'redriven', createdAt: at(-90), notBefore: at(-5) },
        { id: 'oldest', shard: '01', createdAt: at(-60) },
        { id: 'failed', createdAt: at(-50), attempts: 3, nextAttemptAt: at(60) },
        { id: 'sent', shard: '02', status: 'dispatched', createdAt: at(-80) },
        { id: 'parked-1', shard: '01', status: 'parked', createdAt: at(-70) },
        { id: 'parked-2', shard: '02', status: 'parked' },
      );
      expect(await outbox.oldestPending()).toBe(at(-60));
      expect(await outbox.countByStatus()).toEqual(
        new Map([
          ['pending', 3],
          ['dispatched', 1],
          ['parked', 2],
        ]),
      );
      expect(await outbox.parkedCount()).toBe(2);
    });
  });

  describe.runIf(canFail)('a store that is away', () => {
    test.each<[string, (outbox: OutboxStore) => Promise<unknown>]>([
      ['due', (outbox) => outbox.due({ now: iso(0), limit: 1 })],
      ['list', (outbox) => outbox.list({ pageSize: 1 })],
      ['redrive', (outbox) => outbox.redrive('m-1', iso(0))],
      ['oldestPending', (outbox) => outbox.oldestPending()],
      ['countByStatus', (outbox) => outbox.countByStatus()],
      ['parkedCount', (outbox) => outbox.parkedCount()],
    ])('%s rejects with StoreAway', async (_, ask) => {
      const { outbox, denied, clock, failReads } = await world();
      await failReads();
      await expect(ask(outbox)).rejects.toMatchObject({ name: 'StoreAway', reason: 'noAnswer' });
      await expect(ask(denied.outbox({ clock }))).rejects.toMatchObject({
        name: 'StoreAway',
        reason: 'accessDenied',
      });
    });
  });
}

function dispatched(message: OutboxMessage): { message: OutboxMessage; decision: DispatchDecision } {
  return { message, decision: { kind: 'dispatched' } };
}

function idsOf(messages: readonly { id: string }[]): string[] {
  return messages.map(({ id }) => id);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
