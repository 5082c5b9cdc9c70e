import { expect } from 'vitest';
import { newFence } from '../../../../packages/jobs/src/claims/fence.ts';
import type { Patch } from '../../../../packages/jobs/src/documents/documentStore.ts';
import type { Unreadable } from '../../../../packages/jobs/src/documents/unreadable.ts';
import { patience } from '../../../../packages/jobs/src/documents/writeUntilClear.ts';
import { newOutboxMessage } from '../../../../packages/jobs/src/outbox/messageMoves.ts';
import type { Deviation, LostAnswer } from '../../../../packages/jobs/src/testing/documents/subject.ts';
import { leapingClock } from '../../../../packages/leases/src/testing/leapingClock.ts';
import { newStanding } from '../../../../src/invoice/counters/counters.ts';
import type { Invoice, InvoiceContent } from '../../../../src/invoice/invoice.ts';
import { ifClaimedBy, ifUnchanged, type ToStart } from '../../../../src/invoice/invoiceChange.ts';
import { shardNames, shardOf } from '../../../../src/invoice/shard.ts';
import type {
  ClaimRequest,
  SettledItem,
  SettleRequest,
  Started,
  Writes,
} from '../../../../src/invoice/store/invoiceStore.ts';
import { aClaimedInvoice, anInvoice } from '../../../support/anInvoice.ts';
import { deviates } from '../../../support/officialEmulators.ts';
import { putCounted } from '../../../support/putCounted.ts';
import type { StoreSubject } from '../../../support/storeSubject.ts';

export const shard = '00';
export const fence = { lockKey: 'jobs/process-invoices/0', token: 3 };
/** Tries of one write until the store gives it up. */
export const { tries } = patience.thorough;
export const lostAnswers: readonly LostAnswer[] = ['before', 'after', 'echo'];

/** An invoice as `anInvoice` makes it, to be settled. */
export const toSettle = (invoiceId: string): SettledItem => ({
  invoiceId,
  amountMinor: 1999,
  currency: 'USD',
});

export type InvoiceContract = ReturnType<typeof invoiceContract>;

/** Builds the parts that the contract shares: stores in the states that the tests begin with. */
export function invoiceContract({ open, canFail, onEmulator }: StoreSubject) {
  return { world, worldWithDue, worldWithClaimed, known, canFail };

  /** A test of something that the official emulator gets wrong. */
  function known(deviation: Deviation, body: () => Promise<void>) {
    return deviates(deviation, body, onEmulator);
  }

  /** An empty store whose invoices are all in shard 00, unless there are more shards. */
  async function world({ shards = 1 }: { shards?: number } = {}) {
    const opened = await open();
    const { documents } = opened;
    const clock = leapingClock();
    const unreadable: Unreadable[] = [];
    const onUnreadable = (found: Unreadable) => void unreadable.push(found);
    const invoices = opened.invoices({ clock, shards, onUnreadable });
    // They are there, so nothing else has to write them.
    for (const name of shardNames(shards)) {
      const document = newStanding(name, clock.now());
      await documents.transact(name, [{ kind: 'create', document }]);
    }

    async function put(...stored: Partial<Invoice>[]): Promise<void> {
      const invoices = stored.map((changes) => {
        const place = { shard: shardOf(changes.id ?? 'inv-1', shards) };
        return anInvoice({ ...place, ...changes });
      });
      await putCounted(documents, invoices, clock.now());
    }

    async function create<D extends { id: string; shard: string }>(document: D): Promise<void> {
      const answer = await documents.transact(document.shard, [{ kind: 'create', document }]);
      expect(answer).toEqual({ kind: 'committed' });
    }

    /** Changes an invoice as somebody else does. */
    const touch = (id: string, set: NonNullable<Patch['set']> = { touched: true }) =>
      documents.transact(shardOf(id, shards), [{ kind: 'patch', id, set }]);

    async function read(...ids: string[]): Promise<Invoice[]> {
      const found = (await documents.read(shard, ids)) as Invoice[];
      return found.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    }

    const due = async (pageSize = 100): Promise<Invoice[]> =>
      (await Array.fromAsync(invoices.due({ shard, now: iso(clock.now()), pageSize }))).flat();

    const claim = (batchId: string, read: readonly Invoice[], changes: Partial<ClaimRequest<Writes>> = {}) =>
      invoices.claim({
        shard,
        batchId,
        invoices: read,
        fence,
        plan: claimPlan(batchId),
        assertHeld() {},
        ...changes,
      });

    const start = (batchId: string, ids: readonly string[]) =>
      startAgain(
        batchId,
        ids.map((invoiceId) => ({ invoiceId })),
      );

    const startAgain = (batchId: string, toStart: readonly ToStart[]) =>
      invoices.start({ shard, batchId, invoices: toStart, staleAfterMs: 300_000, by: 'host-b' });

    const giveBack = (started: Started) => invoices.giveBack({ ...started, shard });

    const settle = (
      settlementId: string,
      ids: readonly string[],
      changes: Partial<SettleRequest<SettledItem>> = {},
    ) =>
      invoices.settle({
        shard,
        batchId: 'b1',
        settlementId,
        items: ids.map(toSettle),
        plan: settlementPlan(settlementId),
        ...changes,
      });

    return {
      ...opened,
      invoices,
      clock,
      unreadable,
      put,
      create,
      touch,
      read,
      due,
      claim,
      start,
      startAgain,
      giveBack,
      settle,
    };
  }

  /** The same with `count` invoices that are due, `inv-0` and so on, and with the fence of their shard. */
  async function worldWithDue(count: number) {
    const opened = await world();
    await opened.put(...Array.from({ length: count }, (_, n) => ({ id: `inv-${n}` })));
    await opened.documents.transact(shard, [newFence(fence.lockKey, shard)]);
    return { ...opened, page: await opened.due() };
  }

  /** The same with `count` invoices that batch b1 has claimed. */
  async function worldWithClaimed(count: number, phase: 'claimed' | 'calling' = 'claimed') {
    const opened = await world();
    const ids = Array.from({ length: count }, (_, n) => `inv-${n}`);
    await opened.put(...ids.map((id) => aClaimedInvoice({ id }, { phase })));
    return { ...opened, ids };
  }
}

/** Claims each invoice, and orders its payment in one message. */
export function claimPlan(batchId: string): ClaimRequest<Writes>['plan'] {
  return (invoices, now) => {
    const at = iso(now);
    return {
      patches: invoices.map((invoice) =>
        ifUnchanged(invoice, {
          set: {
            status: 'claimed',
            claim: {
              batchId,
              by: 'host-a',
              runId: 'run-1',
              fence: fence.token,
              attempt: invoice.attempts + 1,
              at,
              phase: 'claimed',
            },
            actionableAt: iso(now + 300_000),
            attempts: invoice.attempts + 1,
          },
          entry: { at, what: 'claimed', by: 'host-a', batchId },
        }),
      ),
      messages: [
        newOutboxMessage({ id: batchId, shard, destination: 'payment-commands', body: idsOf(invoices) }, now),
      ],
    };
  };
}

/** Settles each invoice of batch b1 as paid, and orders what follows in one message. */
export function settlementPlan(settlementId: string): SettleRequest<{ invoiceId: string }>['plan'] {
  return (items) => ({
    patches: items.map(({ invoiceId }) =>
      ifClaimedBy('b1', invoiceId, {
        set: { status: 'paid', reason: settlementId },
        clear: ['claim', 'actionableAt'],
        entry: { at: '', what: 'paid', by: 'host-a', settlement: settlementId },
      }),
    ),
    messages: [
      newOutboxMessage(
        {
          id: settlementId,
          shard,
          destination: 'work-items',
          body: items.map(({ invoiceId }) => invoiceId),
        },
        0,
      ),
    ],
  });
}

export function idsOf(invoices: readonly { id: string }[]): string[] {
  return invoices.map(({ id }) => id);
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function contentsOf(count: number): InvoiceContent[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `new-${n}`,
    customerId: 'cus-1',
    amountMinor: 100 + n,
    currency: 'USD',
    dueAt: '2026-05-01T00:00:00.000Z',
    paymentMethod: 'pm_card_visa',
  }));
}
