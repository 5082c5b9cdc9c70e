import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { errorText } from '../src/errorText.ts';

test.each<[string, unknown, string]>([
  ['a message', new Error('no room'), 'no room'],
  ['the name of an error without a message', new TypeError(), 'TypeError'],
  ['a value that is not an error', 'text', 'text'],
  ['undefined', undefined, 'undefined'],
  [
    'the parts of an aggregate without a message, each once',
    new AggregateError([new Error('refused'), new Error('refused'), new RangeError()]),
    'refused; RangeError',
  ],
  ['an empty aggregate', new AggregateError([]), 'AggregateError'],
])('%s', (_, error, text) => {
  expect(errorText(error)).toBe(text);
});

test('a refused connection says so', async () => {
  const server = createServer().listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await new Promise((closed) => server.close(closed));
  const error: unknown = await fetch(`http://localhost:${address.port}`).then(
    () => undefined,
    ({ cause }) => cause,
  );
  expect(errorText(error)).toContain('ECONNREFUSED');
});
