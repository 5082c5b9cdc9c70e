import { beforeEach, expect, test } from 'vitest';
import { types } from '../../packages/local-azure/src/serviceBus/amqp/rhea.ts';
import { createFrameReader, type Frame } from './amqpFrames.ts';
import { type Asked, createLinks, type Links } from './amqpLinks.ts';

const queue = 'payment-commands';
const management = `${queue}/$management`;

/** A frame with one performative, encoded as in AMQP 1.0, part 2.3.1. */
function frame(channel: number, code: number, fields: unknown[], payload = Buffer.alloc(0)): Frame {
  const body = Buffer.concat([described(code, fields), payload]);
  const header = Buffer.from([0, 0, 0, 0, 2, 0, 0, 0]);
  header.writeUInt32BE(header.length + body.length, 0);
  header.writeUInt16BE(channel, 6);
  const [read, ...more] = createFrameReader()(Buffer.concat([header, body]));
  if (read === undefined || more.length > 0) throw new Error('expected exactly one frame');
  return read;
}

function described(code: number, fields: unknown[]): Buffer {
  const writer = new types.Writer();
  writer.write(types.described(types.wrap_ulong(code), types.wrap_list(fields)));
  return writer.toBuffer();
}

const begin = (channel: number, answers: number | null = null) =>
  frame(channel, 0x11, [answers, 0, 2048, 2048]);

function attach(channel: number, handle: number, name: string, receives: boolean, address: string): Frame {
  const [source, target] = [0x28, 0x29].map((code) =>
    types.described(types.wrap_ulong(code), types.wrap_list([address])),
  );
  return frame(channel, 0x12, [name, handle, receives, null, null, source, target]);
}

function transfer(
  channel: number,
  handle: number,
  deliveryId: number | null,
  {
    more = false,
    messageId,
    correlationId,
  }: { more?: boolean; messageId?: string; correlationId?: string } = {},
): Frame {
  const properties = [messageId ?? null, null, null, null, null, correlationId ?? null];
  const header = described(0x70, [true]);
  const payload =
    deliveryId === null ? Buffer.from('rest') : Buffer.concat([header, described(0x73, properties)]);
  return frame(channel, 0x14, [handle, deliveryId, Buffer.from('tag'), 0, false, more], payload);
}

function disposition(
  channel: number,
  side: 'receiver' | 'sender',
  first: number,
  { last = null, outcome = 0x24 }: { last?: number | null; outcome?: number } = {},
): Frame {
  const state = types.described(types.wrap_ulong(outcome), types.wrap_list([]));
  return frame(channel, 0x15, [side === 'receiver', first, last, true, state]);
}

/** The client's sessions 0 and 1 are the broker's channels 5 and 6. Handles differ between the sides, too. */
const broker = [5, 6] as const;
let links: Links;

beforeEach(() => {
  links = createLinks();
  for (const [client, channel] of broker.entries()) {
    links.asked(begin(client));
    links.handedOut(begin(channel, client));
  }
  open(0, 0, 'cbs-out', false, '$cbs', 10);
  open(0, 1, 'cbs', true, '$cbs', 11);
  open(1, 0, 'out', false, queue, 20);
  open(1, 1, 'in', true, queue, 21);
  open(1, 2, 'management-out', false, management, 22);
  open(1, 3, 'management-in', true, management, 23);
});

function open(
  session: 0 | 1,
  handle: number,
  name: string,
  receives: boolean,
  address: string,
  theirs: number,
) {
  const asked = ask(attach(session, handle, name, receives, address));
  const answer = attach(broker[session], theirs, name, !receives, address);
  links.handedOut(answer);
  return { asked, answer };
}

function ask(asking: Frame): Asked {
  const asked = links.asked(asking);
  if (asked === undefined) throw new Error('expected a frame that asks for something');
  return asked;
}

test('the answer to an attach has its name, the other role and its session', () => {
  const { asked, answer } = open(1, 4, 'another', false, queue, 24);
  expect(asked.label).toBe(`open sender ${queue}`);
  expect(asked.answeredBy(answer)).toBe(true);
  expect(asked.answeredBy(attach(6, 24, 'out', true, queue))).toBe(false);
  expect(asked.answeredBy(attach(6, 24, 'another', false, queue))).toBe(false);
  expect(asked.answeredBy(attach(5, 24, 'another', true, queue))).toBe(false);
});

test('a token is answered on the $cbs link, with its message id; a message handed out is not an answer', () => {
  const asked = ask(transfer(0, 0, 7, { messageId: 'token-1' }));
  expect(asked.label).toBe('token');
  expect(asked.answeredBy(transfer(5, 11, 3, { correlationId: 'token-1' }))).toBe(true);
  expect(asked.answeredBy(transfer(5, 11, 3, { correlationId: 'token-0' }))).toBe(false);
  expect(asked.answeredBy(transfer(6, 21, 3, { messageId: 'token-1' }))).toBe(false);
  expect(asked.answeredBy(transfer(6, 23, 3, { correlationId: 'token-1' }))).toBe(false);
  expect(asked.answeredBy(disposition(5, 'receiver', 7))).toBe(false);
});

test('each of two renewals has its own answer', () => {
  const [one, two] = ['one', 'two'].map((messageId, id) => ask(transfer(1, 2, id, { messageId })));
  expect(one?.label).toBe('renew a lock');
  const answer = transfer(6, 23, 0, { correlationId: 'two' });
  expect(one?.answeredBy(answer)).toBe(false);
  expect(two?.answeredBy(answer)).toBe(true);
});

test('a send is answered by a disposition of the receiver that covers its number, in its session', () => {
  const asked = ask(transfer(1, 0, 4));
  expect(asked.label).toBe('send');
  expect(asked.answeredBy(disposition(6, 'receiver', 4))).toBe(true);
  expect(asked.answeredBy(disposition(6, 'receiver', 2, { last: 5 }))).toBe(true);
  expect(asked.answeredBy(disposition(6, 'receiver', 4, { outcome: 0x25 }))).toBe(true);
  expect(asked.answeredBy(disposition(6, 'receiver', 3))).toBe(false);
  expect(asked.answeredBy(disposition(6, 'receiver', 5, { last: 6 }))).toBe(false);
  expect(asked.answeredBy(disposition(5, 'receiver', 4))).toBe(false);
  // This settles the message that was handed out under the same number.
  expect(asked.answeredBy(disposition(6, 'sender', 4))).toBe(false);
});

test('a settlement is answered by a disposition of the sender that covers its number', () => {
  expect(links.handedOut(transfer(6, 21, 4))).toBe(true);
  const asked = ask(disposition(1, 'receiver', 4));
  expect(asked.label).toBe('complete');
  expect(asked.answeredBy(disposition(6, 'sender', 4))).toBe(true);
  expect(asked.answeredBy(disposition(6, 'sender', 5))).toBe(false);
  expect(asked.answeredBy(disposition(6, 'receiver', 4))).toBe(false);
});

test('settling anything but a queue message asks for nothing', () => {
  expect(links.handedOut(transfer(6, 23, 9, { correlationId: 'x' }))).toBe(false);
  expect(links.asked(disposition(1, 'receiver', 9))).toBeUndefined();
});

test('a message in parts is one send or one delivery, even with another message in between', () => {
  expect(ask(transfer(1, 0, 4, { more: true })).label).toBe('send');
  expect(ask(transfer(1, 2, 5, { messageId: 'x' })).label).toBe('renew a lock');
  expect(links.asked(transfer(1, 0, null, { more: true }))).toBeUndefined();
  expect(links.asked(transfer(1, 0, null))).toBeUndefined();
  expect(ask(transfer(1, 0, 6)).label).toBe('send');
  expect(links.handedOut(transfer(6, 21, 0, { more: true }))).toBe(true);
  expect(links.handedOut(transfer(6, 21, 0))).toBe(false);
});

test('a reused channel is a new session with its own delivery numbers', () => {
  expect(links.handedOut(transfer(6, 21, 0))).toBe(true);
  links.asked(begin(1));
  links.handedOut(begin(6, 1));
  expect(links.asked(disposition(1, 'receiver', 0))).toBeUndefined();
  open(1, 0, 'in', true, queue, 0);
  expect(links.handedOut(transfer(6, 0, 0))).toBe(true);
});
