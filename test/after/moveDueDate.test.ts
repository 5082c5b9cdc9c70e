import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { moveDueDate } from '../../src/after/moveDueDate.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { correctionParts } from '../support/correctionParts.ts';
import { addAll } from '../support/importing.ts';
import { withBatch } from '../support/layerSwitches.ts';
import { hastyClock, type PayingWorld, payingWorld, shards } from '../support/payingWorld.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const imported = '2026-01-01T00:00:00.000Z';
const later = '2999-12-31T00:00:00.000Z';
const move = (id: string, dueAt: string, container = world.container) =>
  moveDueDate(
    correctionParts({ invoices: cosmosInvoiceStore(container, { clock: hastyClock, shards }) }),
    id,
    { actor: 'ada', dueAt },
  );

async function anInvoice(changes: Parameters<PayingWorld['dueInvoices']>[1] = {}) {
  const { shard, ids } = await world.dueInvoices(1, changes);
  const [id = ''] = ids;
  return { id, shard, stored: async () => (await world.stored(shard, ids))[0] };
}

describe('moveDueDate', () => {
  test('it is due then, and the imported date is kept', async () => {
    const { id, shard, stored } = await anInvoice();
    expect(await move(id, later)).toMatchObject({ kind: 'moved', before: imported });
    expect(await stored()).toMatchObject({
      dueAt: later,
      actionableAt: later,
      importedDueAt: imported,
      timeline: [{}, { what: 'due date moved', by: 'ada', from: imported, to: later }],
    });
    expect(await world.claimDue(shard)).not.toHaveProperty('message');
    const between = '2998-12-31T00:00:00.000Z';
    expect(await move(id, between)).toMatchObject({ kind: 'moved', before: later });
    expect(await stored()).toMatchObject({ dueAt: between, importedDueAt: imported });
    await move(id, imported);
    expect(await world.claimDue(shard)).toHaveProperty('message');
  });

  test('the same file imported again is a duplicate, with the new date it is another invoice', async () => {
    const { id, stored } = await anInvoice();
    await move(id, later);
    const { customerId, amountMinor, currency, paymentMethod } = (await stored()) ?? {};
    const row = { id, customerId, amountMinor, currency, paymentMethod } as never as { id: string };
    const add = async (dueAt: string) => {
      const { outcomes } = await addAll(world.invoices, [{ ...row, dueAt } as never], {
        by: 'test',
        withinMs: 10_000,
      });
      return outcomes.get(id);
    };
    expect(await add(imported)).toBe('duplicate');
    expect(await add(later)).toBe('otherContent');
    expect(await stored()).toMatchObject({ dueAt: later });
  });

  test('not while a charge may exist, or another state waits for other things', async () => {
    const unsure = await anInvoice({
      payment: { keyNumber: 1, declines: 0, deferrals: 0, unknownSince: imported },
    });
    expect(await move(unsure.id, later)).toEqual({ kind: 'mayBeCharged' });
    const { _etag, id: _, shard: __, ...claimed } = aClaimedInvoice();
    for (const changes of [claimed, { status: 'paid' } as const, { status: 'voided' } as const]) {
      const { id, stored } = await anInvoice(changes);
      const before = await stored();
      expect(await move(id, later)).toEqual({ kind: 'refused', status: changes.status });
      expect(await stored()).toEqual(before);
    }
    expect(await move('nobody', later)).toEqual({ kind: 'notFound' });
  });

  test('a claim that comes first wins', async () => {
    const { id, shard, stored } = await anInvoice();
    const container = withBatch(world.container, (write) => async (...args) => {
      await world.claimDue(shard);
      return write(...args);
    });
    expect(await move(id, later, container)).toEqual({ kind: 'refused', status: 'claimed' });
    expect(await stored()).toMatchObject({ status: 'claimed', dueAt: imported });
  });
});
