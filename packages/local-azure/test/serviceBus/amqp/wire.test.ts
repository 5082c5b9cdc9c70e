/** Behaviour that the SDK does not exercise, or not fully, tested with a plain AMQP client. */
import { once } from 'node:events';
import { ServiceBusClient } from '@azure/service-bus';
import rhea from 'rhea';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type ServiceBusForTests,
  serviceBusForTests,
} from '../../../../../test/support/serviceBusForTests.ts';

let bus: ServiceBusForTests;
let port: number;
beforeAll(async () => {
  bus = await serviceBusForTests({ plain: {}, purge: {} });
  port = Number(/127\.0\.0\.1:(\d+)/.exec(bus.connectionString)?.[1]);
});
afterAll(() => bus[Symbol.asyncDispose]());

const opened: rhea.Connection[] = [];
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
});

const key = { username: 'RootManageSharedAccessKey', password: 'SAS_KEY_VALUE' };

function connect(options: object): rhea.Connection {
  const container = rhea.create_container();
  container.on('error', () => {});
  container.on('disconnected', () => {});
  const connection = container.connect({ host: '127.0.0.1', port, reconnect: false, ...options });
  opened.push(connection);
  return connection;
}

const mechanism = (name: string) => ({
  sasl_mechanisms: {
    [name]: {
      start: (done: (error: undefined, response: Buffer) => void) => done(undefined, Buffer.alloc(0)),
    },
  },
});

test.each(['MSSBCBS', 'ANONYMOUS'])(
  '%s lets a client connect, but it must then put a token',
  async (name) => {
    const connection = connect(mechanism(name));
    await once(connection, 'connection_open');
    const sender = connection.open_sender('plain');
    await once(sender, 'sender_error');
    expect(sender.error).toMatchObject({ condition: 'amqp:unauthorized-access' });
  },
);

test('PLAIN with the key needs no token; with a wrong key it is refused', async () => {
  const sender = connect(key).open_sender('plain');
  await once(sender, 'sendable');
  sender.send({ body: 'by hand', message_id: 1 });
  await once(sender, 'accepted');
  const [received] = await bus.client
    .createReceiver('plain', { receiveMode: 'receiveAndDelete' })
    .receiveMessages(1, { maxWaitTimeInMs: 5000 });
  expect(received).toMatchObject({ body: 'by hand', messageId: 1 });
  const [{ error }] = await once(connect({ ...key, password: 'guess' }), 'connection_error');
  expect(error).toMatchObject({ condition: 'amqp:unauthorized-access' });
});

test('a token signed with the wrong key is refused', async () => {
  const wrong = new ServiceBusClient(bus.connectionString.replace('SAS_KEY_VALUE', 'guess'), {
    retryOptions: { maxRetries: 0 },
  });
  await expect(wrong.createSender('plain').sendMessages({ body: 1 })).rejects.toMatchObject({
    code: 'UnauthorizedAccess',
  });
  await wrong.close();
});

test('a link without an address, as used for transactions, is refused with a reason', async () => {
  const sender = connect(key).open_sender({ target: {} });
  await once(sender, 'sender_error');
  expect(sender.error).toMatchObject({
    condition: 'amqp:not-implemented',
    description: expect.stringMatching(/transactions are not supported/),
  });
});

test('malformed messages are rejected and the link stays usable', async () => {
  const sender = connect(key).open_sender('plain');
  await once(sender, 'sendable');
  sender.send(Buffer.from([1, 2, 3]), undefined, 0);
  const [{ delivery }] = await once(sender, 'rejected');
  expect(delivery.remote_state.error.condition).toBe('amqp:decode-error');
  sender.send(Buffer.from([0x00, 0x53, 0x77, 0xa1, 0xff]), undefined, 0);
  expect((await once(sender, 'rejected'))[0].delivery.remote_state.error.condition).toBe('amqp:decode-error');
  sender.send({ body: 'fine' });
  await once(sender, 'accepted');
});

/** Sends one request to `$management` and returns the reply. */
async function ask(queue: string, operation: string, body: object) {
  const connection = connect(key);
  const receiver = connection.open_receiver({
    source: { address: `${queue}/$management` },
    target: { address: 'answers' },
  });
  await once(receiver, 'receiver_open');
  const sender = connection.open_sender(`${queue}/$management`);
  await once(sender, 'sendable');
  sender.send({ message_id: 'r-1', reply_to: 'answers', application_properties: { operation }, body });
  const [{ message }] = await once(receiver, 'message');
  expect(message.correlation_id).toBe('r-1');
  return message;
}

test('batch delete reports how many messages it deleted', async () => {
  await bus.client.createSender('purge').sendMessages([{ body: 1 }, { body: 2 }]);
  const request = {
    'message-count': rhea.types.wrap_int(10),
    'enqueued-time-utc': new Date(bus.clock.now()),
  };
  const answer = await ask('purge', 'com.microsoft:batch-delete-messages', request);
  expect(answer).toMatchObject({ application_properties: { statusCode: 200 }, body: { 'message-count': 2 } });
  expect((await bus.stats('purge')).active).toBe(0);
  const again = await ask('purge', 'com.microsoft:batch-delete-messages', request);
  expect(again.application_properties.statusCode).toBe(204);
});

test('an unsupported operation gets 501 with its name, a malformed request 400 with the field', async () => {
  const sessions = await ask('plain', 'com.microsoft:get-message-sessions', {});
  expect(sessions.application_properties).toMatchObject({
    statusCode: 501,
    errorCondition: 'amqp:not-implemented',
    statusDescription: expect.stringContaining('com.microsoft:get-message-sessions'),
  });
  const malformed = await ask('plain', 'com.microsoft:renew-lock', { 'lock-tokens': 'none' });
  expect(malformed.application_properties).toMatchObject({
    statusCode: 400,
    statusDescription: expect.stringContaining('lock-tokens'),
  });
});
