import { expect, test } from 'vitest';
import { type DispatchDecision, newOutboxMessage } from '../../../packages/jobs/src/outbox/messageMoves.ts';
import type { OutboxMessage } from '../../../packages/jobs/src/outbox/outboxMessage.ts';
import type { ClaimRequest, InvoiceStore, Writes } from '../../../src/invoice/store/invoiceStore.ts';
import { sendingStore } from '../../../src/invoice/store/invoiceWrites.ts';
import { anInvoice } from '../../support/anInvoice.ts';

const message = (id: string) => newOutboxMessage({ id, shard: '00', destination: 'work-items', body: [] }, 0);
const stored = [message('b1'), message('now')];
const nothing: Writes = { patches: [], messages: [] };
const claiming = { shard: '00', batchId: 'b1', invoices: [], fence: { lockKey: 'k', token: 1 } };
const aClaim = (assertHeld = () => {}): ClaimRequest<Writes> => ({
  ...claiming,
  plan: () => nothing,
  assertHeld,
});

/** A store whose writes store `messages`, and what it sends of them. */
function sending({
  messages = stored,
  decision = { kind: 'dispatched' },
}: {
  messages?: readonly OutboxMessage[];
  decision?: DispatchDecision;
} = {}) {
  const sent: string[] = [];
  const whenIdle: string[] = [];
  const invoice = anInvoice();
  const inner = {
    claim: async () => ({ written: { ...nothing, messages }, contended: 0 }),
    settle: async () => ({ settled: [], messages, lost: 0 }),
    update: async () => ({ kind: 'updated', before: invoice, invoice, messages }),
  } as unknown as Pick<InvoiceStore, 'claim' | 'settle' | 'update'>;
  const store = sendingStore(inner, {
    async send({ id }: OutboxMessage) {
      sent.push(id);
      return decision;
    },
    sendWhenIdle: ({ id }) => void whenIdle.push(id),
  });
  return { store, sent, whenIdle };
}

test('an update sends what it has stored at once', async () => {
  const { store, sent } = sending();
  await store.update('inv-1', { decide: () => ({ kind: 'refuse', why: '' }) });
  expect(sent).toEqual(['b1', 'now']);
});

test('a settlement leaves its messages to the next idle moment', async () => {
  const { store, sent, whenIdle } = sending();
  await store.settle({ shard: '00', batchId: 'b1', settlementId: 's', items: [], plan: () => nothing });
  expect([sent, whenIdle]).toEqual([[], ['b1', 'now']]);
});

test('a claim sends the order of its payments and all else', async () => {
  const { store, sent } = sending();
  expect(await store.claim(aClaim())).toMatchObject({ written: { messages: stored } });
  expect(sent.toSorted()).toEqual(['b1', 'now']);
});

test('a claim says why the order of its payments could not be sent', async () => {
  const retry = { kind: 'retry', error: 'the queue is away', at: '', attempts: 1 } as const;
  expect(await sending({ decision: retry }).store.claim(aClaim())).toMatchObject({
    unsent: 'the queue is away',
  });
  const other = await sending({ messages: [message('now')], decision: retry }).store.claim(aClaim());
  expect(other).not.toHaveProperty('unsent');
});

test('a claim whose lease is lost meanwhile leaves the order of its payments to the sweeper', async () => {
  const { store, sent } = sending();
  const lost = () => {
    throw new Error('the lease is lost');
  };
  expect(await store.claim(aClaim(lost))).not.toHaveProperty('unsent');
  expect(sent).toEqual(['now']);
});
