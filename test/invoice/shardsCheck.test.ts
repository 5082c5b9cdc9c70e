import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { ShardsChanged, shardsCheck } from '../../src/invoice/shard.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());
afterEach(async () => {
  await cosmos.clearFaults();
  await cosmos.containers.invoices.item('deployment', 'deployment').delete();
});

const check = (shards: number) => shardsCheck(cosmosDocuments(cosmos.containers.invoices), shards);

test('the first shard count is kept; a different one is refused, and the error says which to set', async () => {
  await check(16)();
  await expect(check(16)()).resolves.toBeUndefined();
  const changed = check(8)();
  await expect(changed).rejects.toThrow(ShardsChanged);
  await expect(changed).rejects.toThrow(/^SHARDS is 8, but .* stored in 16 shards: set SHARDS to 16/);
});

test('one count wins if instances start at the same time with different ones', async () => {
  const given = [4, 8, 16, 4, 8, 16];
  const outcomes = await Promise.allSettled(given.map((shards) => check(shards)()));
  const { resource } = await cosmos.containers.invoices
    .item('deployment', 'deployment')
    .read<{ shards: number }>();
  expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
    given.map((shards) => shards === resource?.shards),
  );
});

test('a process reads the count once, even if refused', async () => {
  await check(16)();
  const [same, other] = [check(16), check(8)];
  await same();
  await expect(other()).rejects.toThrow(ShardsChanged);
  await cosmos.fault({ kind: '503', count: 100 });
  await expect(same()).resolves.toBeUndefined();
  await expect(other()).rejects.toThrow(ShardsChanged);
});

test('if the store does not answer, the next call asks again', async () => {
  await cosmos.fault({ kind: '503', count: 100 });
  const asked = check(16);
  await expect(asked()).rejects.not.toThrow(ShardsChanged);
  await cosmos.clearFaults();
  await expect(asked()).resolves.toBeUndefined();
});
