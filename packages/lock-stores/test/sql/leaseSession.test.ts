import { expect, test } from 'vitest';
import { never } from '../../../leases/src/testing/subject.ts';
import type { PostgresSession } from '../../src/postgres/postgresConnection.ts';
import { leaseSession } from '../../src/sql/leaseSession.ts';
import type { SqlAnswer } from '../../src/sql/sqlConnection.ts';

const minute = 60_000;

/** A session on a connection to nowhere: what it sends waits for its answer. */
function fakeSession({ leaseMs = minute } = {}) {
  const ended = new AbortController();
  const sent: { statement: string; answer: (own: boolean) => void }[] = [];
  const connection: PostgresSession = {
    processId: 7,
    ended: ended.signal,
    destroy: () => ended.abort(new Error('gone')),
    close: async () => {},
    listen: async () => {},
    run: (statement) =>
      new Promise<SqlAnswer>((resolve, reject) => {
        sent.push({ statement, answer: (own) => resolve({ rows: [{ own }], matched: 0 }) });
        ended.signal.addEventListener('abort', () => reject(ended.signal.reason));
      }),
  };
  return { session: leaseSession(connection, leaseMs), connection, sent };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('statements go one after the other, and one that was aborted before its turn is not sent', async () => {
  const { session, sent } = fakeSession();
  const first = session.ask(never, 'first', '1');
  const giving = new AbortController();
  const second = session.ask(giving.signal, 'second', '1');
  const third = session.ask(never, 'third', '1');
  giving.abort(new Error('aborted'));
  await expect(second).rejects.toThrow('aborted');
  sent[0]?.answer(true);
  await first;
  await turn();
  sent[1]?.answer(true);
  expect(await third).toEqual({ own: true });
  expect(sent.map(({ statement }) => statement)).toEqual(['first', 'third']);
  session.end();
});

test('a slow answer that nobody waits for any more does not end the session', async () => {
  const { session, connection, sent } = fakeSession();
  const giving = new AbortController();
  const slow = session.ask(giving.signal, 'slow', '1');
  await turn();
  giving.abort(new Error('aborted'));
  await expect(slow).rejects.toThrow('aborted');
  const next = session.ask(never, 'next', '1');
  sent[0]?.answer(true);
  await turn();
  sent[1]?.answer(true);
  expect(await next).toEqual({ own: true });
  expect(connection.ended.aborted).toBe(false);
  session.end();
});

test('an answer of another session is a loss, and ends this one', async () => {
  const { session, connection, sent } = fakeSession();
  const asked = session.ask(never, 'renew', '1');
  await turn();
  sent[0]?.answer(false);
  expect(await asked).toMatchObject({ kind: 'refused', reason: 'taken' });
  await session.ended;
  expect(connection.ended.aborted).toBe(true);
  expect(await session.ask(never, 'renew', '1')).toMatchObject({ kind: 'refused', reason: 'taken' });
});

test('a session that is silent for the length of its lease ends', async () => {
  const { session, connection } = fakeSession({ leaseMs: 20 });
  await session.ended;
  expect(connection.ended.aborted).toBe(true);
});

test('the end of its connection ends it without being asked, and nothing that happens after it has left does', async () => {
  const { session, connection } = fakeSession();
  connection.destroy();
  expect(await session.ended).toEqual({
    kind: 'refused',
    reason: 'taken',
    detail: 'its session has ended: gone',
  });

  const gone = fakeSession();
  let told = false;
  void gone.session.ended.then(() => (told = true));
  gone.session.leave().destroy();
  await turn();
  expect(told).toBe(false);
});

test('one whose connection has ended before it began is over', async () => {
  const { connection } = fakeSession();
  connection.destroy();
  expect(await leaseSession(connection, minute).ended).toMatchObject({ kind: 'refused', reason: 'taken' });
});

test('one that has left may be silent', async () => {
  const { session, connection } = fakeSession({ leaseMs: 20 });
  expect(session.leave()).toBe(connection);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(connection.ended.aborted).toBe(false);
});
