import { expect, test } from 'vitest';
import { problem, problemResponse } from '../../src/platform/problem.ts';

test('a problem has its status phrase as the title, and lists field errors if there are any', () => {
  expect(problem(404, 'there is no invoice "a"')).toEqual({
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'there is no invoice "a"',
  });
  const errors = [{ field: 'status', error: 'expected pending' }];
  expect(problem(400, 'The query is wrong.', errors)).toMatchObject({ title: 'Bad Request', errors });
});

test('its response has the problem media type and keeps the other headers', async () => {
  const init = problemResponse(problem(413, 'too much: 5 µs'), {
    'retry-after': '1',
    'content-type': 'text/html',
  });
  const response = new Response(init.body, init);
  expect(response.status).toBe(413);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('retry-after')).toBe('1');
  expect(await response.json()).toEqual({
    type: 'about:blank',
    title: 'Payload Too Large',
    status: 413,
    detail: 'too much: 5 µs',
  });
});
