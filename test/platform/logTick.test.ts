import { expect, test } from 'vitest';
import { logTick } from '../../src/platform/logTick.ts';

test.each([
  [{ waitingFor: ['SHARDS: expected a whole number'] }, 'error'],
  [{ dispatched: 1 }, 'log'],
  [null, 'log'],
])('%j is logged at the level %s', (result, level) => {
  const lines: string[][] = [];
  const write = (to: string) => (message: string) => void lines.push([to, message]);
  logTick({ log: write('log'), error: write('error') }, result);
  expect(lines).toEqual([[level, JSON.stringify(result)]]);
});
