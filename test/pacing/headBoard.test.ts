import { afterAll, beforeAll, expect, test } from 'vitest';
import { cosmosHeadBoard } from '../../src/pacing/cosmosHeadBoard.ts';
import { letsOthersFirst } from '../../src/pacing/headBoard.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const at = Date.parse('2026-01-01T12:00:00.000Z');
const since = (minutes: number) => new Date(at - minutes * 60_000).toISOString();

test('a group waits for one whose first invoice has been waiting for over a minute longer', () => {
  const own = { since: since(10), at };
  expect(letsOthersFirst(own, [own, { since: since(11), at }])).toBe(false);
  expect(letsOthersFirst(own, [own, { since: since(11.1), at }])).toBe(true);
  expect(letsOthersFirst(own, [own, { since: since(5), at }])).toBe(false);
  expect(letsOthersFirst(own, [])).toBe(false);
});

test('a group that has said nothing for five seconds is not waited for', () => {
  const own = { since: since(1), at };
  expect(letsOthersFirst(own, [{ since: since(60), at: at - 5_000 }])).toBe(true);
  expect(letsOthersFirst(own, [{ since: since(60), at: at - 5_001 }])).toBe(false);
});

test('in Cosmos, each group sees what the others have told last', async () => {
  const board = cosmosHeadBoard(cosmos.containers.pace);
  expect(await board.tell('0', { since: since(3), at })).toEqual([{ since: since(3), at }]);
  await board.tell('1', { since: since(4), at });
  const all = await board.tell('0', { since: since(2), at: at + 1 });
  expect(all).toEqual(
    expect.arrayContaining([
      { since: since(2), at: at + 1 },
      { since: since(4), at },
    ]),
  );
  expect(all).toHaveLength(2);
});
