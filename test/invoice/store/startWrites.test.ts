import { expect, test } from 'vitest';
import {
  type DocumentStore,
  NoClearAnswer,
  StoreAway,
} from '../../../packages/jobs/src/documents/documentStore.ts';
import { leapingClock } from '../../../packages/leases/src/testing/leapingClock.ts';
import { counterKeeper } from '../../../src/invoice/counters/counters.ts';
import type { Invoice } from '../../../src/invoice/invoice.ts';
import type { ToStart } from '../../../src/invoice/invoiceChange.ts';
import { invoiceWrites } from '../../../src/invoice/store/invoiceWrites.ts';
import { memoryDocuments, type StoredDocument } from '../../memory/memoryDocuments.ts';
import { aClaimedInvoice } from '../../support/anInvoice.ts';

function startWrites(documents: DocumentStore) {
  const parts = { documents, clock: leapingClock() };
  return invoiceWrites({ ...parts, shards: 1, counters: counterKeeper(parts) });
}

/** Starts an invoice in a store that writes, and whose answers are all lost. Resolves with each of its states from then on. */
async function startUnanswered(phase: 'claimed' | 'calling', toStart: ToStart): Promise<StoredDocument[]> {
  const states: StoredDocument[] = [];
  const documents = memoryDocuments({
    fault: () => 'after',
    readFault: () => 'noAnswer',
    onWrite: (after) => void states.push(after),
  });
  documents.store(aClaimedInvoice({ id: toStart.invoiceId }, { phase }));
  const { start } = startWrites(documents);
  const started = start({
    shard: '00',
    batchId: 'b1',
    invoices: [toStart],
    staleAfterMs: 300_000,
    by: 'host-b',
  });
  await expect(started).rejects.toThrow(NoClearAnswer);
  return states;
}

test('a start that is never confirmed is taken back: nobody calls for it', async () => {
  const states = await startUnanswered('claimed', { invoiceId: 'inv-1' });
  expect(states).toMatchObject([{ claim: { phase: 'calling' } }, { claim: { phase: 'claimed' } }]);
});

test('one that was to call again leaves what an earlier delivery may have charged', async () => {
  const earlier = { since: '2026-01-01T12:00:01.000Z', attempt: 1 };
  const states = await startUnanswered('calling', { invoiceId: 'inv-1', earlier });
  expect(states).toMatchObject([
    { attempts: 2, claim: { phase: 'calling', attempt: 2 } },
    { attempts: 1, claim: { phase: 'calling', attempt: 1 } },
  ]);
});

test('what is taken back is, however often another delivery takes one of the others first', async () => {
  const ids = ['inv-1', 'inv-2', 'inv-3', 'inv-4'];
  const taken = ['inv-1', 'inv-2', 'inv-3'];
  let isBack = false;
  const documents = memoryDocuments({
    fault() {
      const id = isBack ? taken.shift() : undefined;
      if (id !== undefined) documents.store(aClaimedInvoice({ id, attempts: 2 }, { phase: 'calling' }));
      return undefined;
    },
  });
  for (const id of ids) documents.store(aClaimedInvoice({ id }, { phase: 'claimed' }));
  const { start, giveBack } = startWrites(documents);
  const invoices = ids.map((invoiceId) => ({ invoiceId }));
  const started = await start({ shard: '00', batchId: 'b1', invoices, staleAfterMs: 300_000, by: 'host-b' });
  isBack = true;
  await giveBack({ ...started, shard: '00' });
  const phases = ((await documents.read('00', ids)) as Invoice[]).map(({ claim }) => claim?.phase);
  expect(phases).toEqual(['calling', 'calling', 'calling', 'claimed']);
});

test.for([
  ['without an answer', 'after'],
  ['that is refused because it had gone out before', 'echo'],
] as const)(
  'a start %s is taken back, too, if the store then denies access to what it has written',
  async ([, fault]) => {
    const states: StoredDocument[] = [];
    const faults = [fault];
    const documents = memoryDocuments({
      fault: () => faults.pop(),
      readFault: () => 'accessDenied',
      onWrite: (after) => void states.push(after),
    });
    documents.store(aClaimedInvoice({ id: 'inv-1' }, { phase: 'claimed' }));
    const { start } = startWrites(documents);
    const invoices = [{ invoiceId: 'inv-1' }];
    const started = start({ shard: '00', batchId: 'b1', invoices, staleAfterMs: 300_000, by: 'host-b' });
    await expect(started).rejects.toThrow(StoreAway);
    expect(states).toMatchObject([{ claim: { phase: 'calling' } }, { claim: { phase: 'claimed' } }]);
  },
);

test('one that the store denies has not been applied, so nothing is taken back', async () => {
  const sent: unknown[] = [];
  const documents = memoryDocuments({
    fault(_partition, operations) {
      sent.push(operations);
      return 'denied';
    },
  });
  documents.store(aClaimedInvoice({ id: 'inv-1' }, { phase: 'claimed' }));
  const { start } = startWrites(documents);
  const invoices = [{ invoiceId: 'inv-1' }];
  const started = start({ shard: '00', batchId: 'b1', invoices, staleAfterMs: 300_000, by: 'host-b' });
  await expect(started).rejects.toThrow(StoreAway);
  expect(sent).toHaveLength(1);
});
