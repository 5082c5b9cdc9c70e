import fc from 'fast-check';
import rhea from 'rhea';
import { expect, test } from 'vitest';
import { isFull } from '../../../../../test/support/onlyInFull.ts';
import {
  DecodeError,
  readBatch,
  readMessage,
  readSections,
  withApplicationProperties,
} from '../../../src/serviceBus/amqp/codec.ts';
import { encodeDelivered } from '../../../src/serviceBus/amqp/delivered.ts';
import { tokenFromTag, tokenToTag } from '../../../src/serviceBus/amqp/lockToken.ts';
import type { Message } from '../../../src/serviceBus/broker/message.ts';

const message = fc.record(
  {
    message_id: fc.string({ minLength: 1, maxLength: 300 }),
    group_id: fc.string({ maxLength: 20 }),
    subject: fc.string(),
    ttl: fc.nat(),
    durable: fc.boolean(),
    message_annotations: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,9}$/),
      fc.oneof(fc.string(), fc.integer(), fc.boolean()),
    ),
    application_properties: fc.dictionary(
      fc.stringMatching(/^[a-z]{1,9}$/),
      fc.oneof(fc.string(), fc.double({ min: -1e9, max: 1e9, noNaN: true })),
    ),
    body: fc.oneof(
      fc.string(),
      fc.integer(),
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
    ),
  },
  { requiredKeys: ['body', 'message_id'] },
);

const stored = (encoded: Buffer): Message => ({
  ...readMessage(encoded),
  sequenceNumber: 7,
  enqueuedAt: 1000,
  expiresAt: Infinity,
  deliveryCount: 2,
  deadLetter: undefined,
});

const own = {
  'x-opt-enqueued-time': 1000,
  'x-opt-sequence-number': 7,
  'x-opt-enqueue-sequence-number': 7,
  'x-opt-locked-until': 2000,
  'x-opt-message-state': 0,
};

test('a delivered message is the sent one, with the broker’s header and annotations', () => {
  fc.assert(
    fc.property(message, (sent) => {
      const encoded = rhea.message.encode(sent);
      const read = readMessage(encoded);
      expect(read.messageId).toBe(sent.message_id);
      expect(read.sessionId).toBe(sent.group_id);
      const bareStart = readSections(encoded).find(({ code }) => code >= 0x73)?.start ?? 0;
      expect(read.bare.equals(encoded.subarray(bareStart))).toBe(true);
      const delivered = rhea.message.decode(encodeDelivered(stored(encoded), { lockedUntil: 2000 }));
      const before = rhea.message.decode(encoded);
      expect(delivered).toMatchObject({
        delivery_count: 2,
        ...(sent.ttl === undefined ? {} : { ttl: sent.ttl }),
      });
      expect(delivered.body).toEqual(before.body);
      expect(delivered.application_properties ?? {}).toEqual(before.application_properties ?? {});
      const {
        'x-opt-enqueued-time': enqueued,
        'x-opt-locked-until': locked,
        ...rest
      } = delivered.message_annotations;
      expect({ ...rest, 'x-opt-enqueued-time': +enqueued, 'x-opt-locked-until': +locked }).toEqual({
        ...before.message_annotations,
        ...own,
      });
    }),
  );
});

test('types that the broker does not know are preserved', () => {
  const byte = (rhea.types as unknown as { wrap_byte(value: number): object }).wrap_byte(5);
  const annotations = { 'x-opt-custom': byte, 'x-opt-sequence-number': 1 };
  const encoded = rhea.message.encode({ body: 'x', message_id: 'm', message_annotations: annotations });
  const read = readMessage(encoded);
  // Key (symbol) and value (byte, 0x51): the sender's sequence number is dropped.
  expect(read.annotations).toEqual(
    Buffer.concat([Buffer.from([0xa3, 12]), Buffer.from('x-opt-custom'), Buffer.from([0x51, 5])]),
  );
});

test('a message without an id gets one, with or without a properties section', () => {
  for (const sent of [{ body: 'x' }, { body: 'x', subject: 's' }]) {
    const encoded = rhea.message.encode(sent);
    const first = readMessage(encoded);
    expect(rhea.message.decode(first.bare)).toMatchObject({ ...sent, message_id: first.messageId });
    expect(readMessage(encoded).messageId).not.toBe(first.messageId);
  }
  const withoutProperties = Buffer.from([0x00, 0x53, 0x77, 0xa1, 1, 0x61]);
  const read = readMessage(withoutProperties);
  expect(rhea.message.decode(read.bare)).toMatchObject({ body: 'a', message_id: read.messageId });
});

test('application properties are added, replaced and kept', () => {
  const { bare } = readMessage(rhea.message.encode({ message_id: 'm', body: 'x' }));
  expect(withApplicationProperties(bare, {})).toBe(bare);
  const once = withApplicationProperties(bare, { a: 1, b: 'two', none: undefined });
  expect(rhea.message.decode(once)).toMatchObject({ body: 'x', application_properties: { a: 1, b: 'two' } });
  const twice = withApplicationProperties(once, { a: 'one', c: true });
  expect(rhea.message.decode(twice)).toMatchObject({
    message_id: 'm',
    body: 'x',
    application_properties: { a: 'one', b: 'two', c: true },
  });
});

test('a batch decodes to one message per data section', () => {
  const messages = ['short', 'l'.repeat(300)].map((body) => rhea.message.encode({ body, message_id: body }));
  const batch = rhea.message.encode({ body: rhea.message.data_sections(messages) });
  expect(readBatch(batch)).toEqual(messages);
});

test('truncated or corrupted bytes decode or throw a DecodeError', () => {
  const encoded = rhea.message.encode({ message_id: 'm', body: 'text', application_properties: { a: 1 } });
  fc.assert(
    fc.property(fc.nat({ max: encoded.length - 1 }), fc.nat({ max: 255 }), fc.boolean(), (at, byte, cut) => {
      const bytes = Buffer.from(cut ? encoded.subarray(0, at) : encoded);
      if (!cut) bytes[at] = byte;
      try {
        readMessage(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError);
      }
    }),
    { numRuns: isFull ? 2_000 : 500 },
  );
});

test('a lock token survives the round trip through a delivery tag', () => {
  const token = '00112233-4455-6677-8899-aabbccddeeff';
  expect(tokenToTag(token).toString('hex')).toBe('33221100554477668899aabbccddeeff');
  expect(tokenFromTag(tokenToTag(token))).toBe(token);
});
