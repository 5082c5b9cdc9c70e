import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatVersion, NewerVersion } from '../../packages/jobs/src/documents/storedDocuments.ts';
import {
  BatchRefused,
  commandFor,
  datedByMessage,
  newPaymentBatch,
  type PaymentBatch,
  parseBatch,
} from '../../src/paying/paymentBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';

const batch: PaymentBatch = newPaymentBatch({
  batchId: '0b9f4c1e-5a53-4a7e-8a51-0d6c8c6d1f11',
  shard: '0a',
  runId: 'run-1',
  commands: [commandFor(anInvoice(), { attempt: 1, at: '2026-01-01T12:00:00.000Z' })],
});

describe('datedByMessage', () => {
  const sentAt = Date.parse('2026-05-01T12:00:00.000Z');
  const keysOf = (changed: PaymentBatch) => changed.commands.map(({ payment }) => payment.keyCreatedAt);
  const withKey = (keyCreatedAt: string) => ({
    ...batch,
    commands: batch.commands.map((command) => ({
      ...command,
      payment: { ...command.payment, keyCreatedAt },
    })),
  });

  test('a key that a clock ahead of time has dated is as old as its message', () => {
    expect(keysOf(datedByMessage(withKey('2026-05-01T14:00:00.000Z'), sentAt))).toEqual(
      batch.commands.map(() => '2026-05-01T12:00:00.000Z'),
    );
  });

  test('an older key keeps its age, and so does each one if the time of the message is not known', () => {
    const older = withKey('2026-05-01T11:59:59.000Z');
    expect(datedByMessage(older, sentAt)).toEqual(older);
    const ahead = withKey('2026-05-01T14:00:00.000Z');
    expect(datedByMessage(ahead, undefined)).toEqual(ahead);
  });
});

describe('parseBatch', () => {
  test('a batch is passed through unchanged', () => {
    expect(parseBatch(batch)).toEqual(batch);
  });

  test.each<[string, unknown, RegExp]>([
    ['no object', 'text', /message: /],
    ['no commands', { ...batch, commands: [] }, /commands: /],
    ['a shard that is none', { ...batch, shard: 'zz' }, /shard: two hex digits/],
    [
      'a batch id with quotes and blanks',
      { ...batch, batchId: `x' or c.status = 'claimed` },
      /batchId: expected 1 to 64 letters/,
    ],
  ])('%s is refused, and the field is named', (_, message, text) => {
    expect(() => parseBatch(message)).toThrow(BatchRefused);
    expect(() => parseBatch(message)).toThrow(text);
  });

  test('a batch without a version is understood', () => {
    const { version: _, ...first } = batch;
    expect(parseBatch(first)).toEqual(first);
  });

  test('unknown fields do no harm, and those of the payment are kept', () => {
    const [command] = batch.commands;
    const payment = { ...command?.payment, sca: 'exempt' };
    const message = { ...batch, extra: 1, commands: [{ ...command, note: 'x', payment }] };
    expect(parseBatch(message).commands).toEqual([{ ...command, payment }]);
  });

  test('a batch of a newer version is not refused: a newer process handles it', () => {
    expect(() => parseBatch({ ...batch, version: formatVersion + 1, commands: 'in another form' })).toThrow(
      NewerVersion,
    );
  });

  test('a batch id is 1 to 64 letters, digits, - or _, perhaps after a colon', () => {
    const ids = [/^[:\\'"\w -]{1,20}$/, /^:{0,2}[\w-]{60,70}$/].map((pattern) => fc.stringMatching(pattern));
    fc.assert(
      fc.property(fc.oneof(fc.string(), ...ids), (batchId) => {
        const parse = () => parseBatch({ ...batch, batchId });
        if (/^:?[\w-]{1,64}$/.test(batchId)) expect(parse()).toEqual({ ...batch, batchId });
        else expect(parse).toThrow(BatchRefused);
      }),
    );
  });
});
