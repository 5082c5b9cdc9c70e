import { randomUUID } from 'node:crypto';
import { BlobServiceClient } from '@azure/storage-blob';
import { expect, inject, test } from 'vitest';
import { journaledActions, journaledChanges, journalLines } from '../../scripts/readJournal.ts';
import type { JournalLine } from '../../src/ops/auditTrail.ts';
import { blobJournal } from '../../src/ops/blobJournal.ts';
import { virtualClock } from '../support/virtualClock.ts';

const at = '2026-01-02T12:00:00.000Z';
const asked = (target: string, action: string, changes: object, intent = `i-${target}`): JournalLine => {
  return { at, intent, actor: 'ada', actorId: '7c0e', action, target, changes: { ...changes } };
};

async function container() {
  const blobs = BlobServiceClient.fromConnectionString(inject('azurite'));
  const created = blobs.getContainerClient(`journal-${randomUUID()}`);
  await created.create();
  return created;
}

async function namesIn(blobs: Awaited<ReturnType<typeof container>>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of blobs.listBlobsFlat()) names.push(name);
  return names;
}

test('lines go to one blob for each instance and ten minutes, and are all read back', async () => {
  const blobs = await container();
  const clock = virtualClock(Date.parse(at));
  const one = { name: 'host/a#1', clock };
  const journal = blobJournal(blobs, one);
  const lines = Array.from({ length: 5 }, (_, n) =>
    asked(`inv-${n}`, 'void invoice', { reason: 'a\u2028b\n"é' }),
  );
  for (const line of lines.slice(0, 3)) await journal.append([line]);
  // A process that begins anew under the same name goes on in the same blobs.
  await blobJournal(blobs, one).append(lines.slice(3));
  await blobJournal(blobs, { name: 'host-b', clock }).append([asked('inv-b', 'void invoice', {})]);
  clock.stall(600_000);
  await blobJournal(blobs, { name: 'host-b', clock }).append([asked('inv-d', 'void invoice', {})]);
  clock.stall(86_400_000);
  await journal.append([asked('inv-c', 'void invoice', {})]);

  expect(await namesIn(blobs)).toEqual([
    '2026-01-02/host%2Fa%231-1200.jsonl',
    '2026-01-02/host-b-1200.jsonl',
    '2026-01-02/host-b-1210.jsonl',
    '2026-01-03/host%2Fa%231-1210.jsonl',
  ]);
  const bad: string[] = [];
  const read = await Array.fromAsync(journalLines(blobs, at, (name) => bad.push(name)));
  expect(read).toEqual(expect.arrayContaining(lines));
  expect(read).toHaveLength(8);
  expect(bad).toEqual([]);
  const later = await Array.fromAsync(
    journalLines(blobs, '2026-01-03T00:00:00.000Z', (name) => bad.push(name)),
  );
  expect(later).toMatchObject([{ target: 'inv-c' }]);
});

test('a line that cannot be read is reported, and hides no other', async () => {
  const blobs = await container();
  const journal = blobJournal(blobs, { name: 'a', clock: virtualClock(Date.parse(at)) });
  await journal.append([asked('inv-1', 'void invoice', {})]);
  const broken = Buffer.from('{"at":"2026\nnull\n{}\n');
  await blobs.getAppendBlobClient('2026-01-02/a-1200.jsonl').appendBlock(broken, broken.length);
  await journal.append([asked('inv-2', 'void invoice', {})]);
  const bad: string[] = [];
  const read = await Array.fromAsync(journalLines(blobs, at, (_, text) => bad.push(text)));
  expect(read).toMatchObject([{ target: 'inv-1' }, { target: 'inv-2' }]);
  expect(bad).toEqual(['{"at":"2026', 'null', '{}']);
});

test('what was voided, moved or given another method since a time is listed, but what was refused is not', async () => {
  const { void: voided, bulkVoid, move, retry } = journaledActions;
  const answer = (target: string, outcome: number | 'unknown') => ({ at, intent: `i-${target}`, outcome });
  const moved = { dueAt: '2026-03-01T00:00:00.000Z' };
  const changes = await journaledChanges(
    [
      { ...asked('before', voided, {}), at: '2026-01-02T11:59:59.999Z' },
      answer('refused', 409),
      asked('refused', voided, { reason: 'no' }),
      asked('v', voided, { reason: 'no' }),
      asked('v', voided, { reason: 'no' }),
      answer('v', 200),
      { ...asked('m', move, moved), at: '2026-01-02T12:00:00.001Z' },
      answer('m', 'unknown'),
      { ...asked('p', retry, { paymentMethod: 'pm_2' }), at: '2026-01-02T12:00:00.002Z' },
      answer('p', 503),
      asked('only-retried', retry, { notCharged: true, reason: 'asked the bank' }),
      asked('b1', bulkVoid, { reason: 'no' }, 'i-bulk'),
      asked('b2', bulkVoid, { reason: 'no' }, 'i-bulk'),
      asked('ops/pause', 'pause payments', { reason: 'no' }),
    ],
    at,
  );
  const who = { at, actor: 'ada', actorId: '7c0e' };
  expect(changes).toEqual([
    { ...who, invoiceId: 'v', change: { kind: 'voided' }, answered: true },
    { ...who, invoiceId: 'b1', change: { kind: 'voided' }, answered: false },
    { ...who, invoiceId: 'b2', change: { kind: 'voided' }, answered: false },
    {
      ...who,
      at: '2026-01-02T12:00:00.001Z',
      invoiceId: 'm',
      change: { kind: 'dueDate', dueAt: moved.dueAt },
      answered: false,
    },
    {
      ...who,
      at: '2026-01-02T12:00:00.002Z',
      invoiceId: 'p',
      change: { kind: 'paymentMethod', paymentMethod: 'pm_2' },
      answered: false,
    },
  ]);
});
