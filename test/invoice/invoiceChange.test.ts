import { expect, test } from 'vitest';
import { patchBody } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { planClaims } from '../../src/claiming/claimBatch.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import { ifClaimedBy, ifUnchanged, longestReason } from '../../src/invoice/invoiceChange.ts';
import { anInvoice } from '../support/anInvoice.ts';

const at = '2026-01-01T12:00:00.000Z';
const long = 'é'.repeat(2_000);
const entry = { at, what: 'parked', by: 'host-a', reason: long };

test('a reason of any length is cut, in the invoice and in its timeline', () => {
  const change = { set: { reason: long }, entry };
  for (const patch of [ifUnchanged(anInvoice(), change), ifClaimedBy('b1', 'inv-1', change)]) {
    const texts = [patch.set?.reason, (patch.append?.value as typeof entry | undefined)?.reason];
    for (const text of texts) expect(text).toMatch(new RegExp(`^é{${longestReason - 1}}…$`));
  }
  const short = { set: { reason: 'short' }, entry: { ...entry, reason: 'short' } };
  expect(ifClaimedBy('b1', 'inv-1', short)).toMatchObject({
    set: { reason: 'short' },
    append: { value: { reason: 'short' } },
  });
});

test('a claim of 96 invoices whose timelines are full of long reasons fits a transaction', () => {
  const reason = 'é'.repeat(longestReason);
  const timeline = Array.from({ length: 100 }, (_, n) => ({ ...entry, what: `retry ${n}`, reason }));
  const invoices = Array.from({ length: 96 }, (_, n) => anInvoice({ id: `inv-${n}`, timeline }));
  const { patches, messages } = planClaims(invoices, {
    batchId: 'batch-1',
    shard: '00',
    now: Date.parse(at),
    claimStaleMs: 300_000,
    claimant: { runId: 'run-1', instance: 'host-a', fence: 1 },
    followUps: followUpsOf([]),
  });
  const request = JSON.stringify([...patches.map(patchBody), ...messages]);
  expect(Buffer.byteLength(request)).toBeLessThan(2 * 1024 * 1024 * 0.75);
  const kept = patches[0]?.set?.timeline as typeof timeline;
  expect(kept[0]?.what, 'the first entry stays').toBe('retry 0');
  expect(kept.at(-2)?.what, 'and the latest').toBe('retry 99');
  expect(kept.length).toBeGreaterThan(5);
});

test('a long timeline keeps the latest notes, which a claim of 96 such invoices has room for', () => {
  const text = 'é'.repeat(500);
  const notes = Array.from({ length: 40 }, (_, n) => ({ at, what: 'note', by: `ada ${n}`, text }));
  const others = Array.from({ length: 100 }, (_, n) => ({ ...entry, what: `retry ${n}` }));
  const timeline = [{ at, what: 'imported', by: 'ada' }, ...notes, ...others];
  const kept = ifUnchanged(anInvoice({ timeline }), { entry }).set?.timeline as typeof notes;
  expect(kept[0]?.what).toBe('imported');
  expect(kept.flatMap(({ what, by }) => (what === 'note' ? [by] : [])).at(-1)).toBe('ada 39');
  expect(Buffer.byteLength(JSON.stringify(kept)) * 96).toBeLessThan(2 * 1024 * 1024 * 0.75);
  const short = notes.map((one) => ({ ...one, text: 'rang' }));
  const long = anInvoice({ timeline: [...timeline.slice(0, 1), ...short, ...others] });
  const again = ifUnchanged(long, { entry }).set?.timeline as typeof notes;
  expect(again.filter(({ what }) => what === 'note')).toEqual(short.slice(-25));
});
