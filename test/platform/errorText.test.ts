import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { errorText } from '../../src/platform/errorText.ts';

test.each<[string, unknown, string]>([
  ['a message', new Error('no room'), 'no room'],
  ['an error without one is named', new TypeError(), 'TypeError'],
  ['what is no error', 'text', 'text'],
  ['nothing at all', undefined, 'undefined'],
  [
    'the parts of an error that has none of its own, each once',
    new AggregateError([new Error('refused'), new Error('refused'), new RangeError()]),
    'refused; RangeError',
  ],
  ['an aggregate of nothing', new AggregateError([]), 'AggregateError'],
])('%s', (_, error, text) => {
  expect(errorText(error)).toBe(text);
});

test('a connection that nobody accepts says so', async () => {
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
