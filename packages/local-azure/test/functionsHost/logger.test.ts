import { expect, test } from 'vitest';
import { createLogger } from '../../src/functionsHost/logger.ts';

function written(logLevel: Record<string, string>, category: string): string[] {
  const lines: string[] = [];
  const logger = createLogger(logLevel, (line) => lines.push(line));
  for (const level of ['trace', 'debug', 'information', 'warning', 'error', 'critical'] as const) {
    logger.log(level, category, level);
  }
  return lines.map((line) => line.split(' ').at(-1) ?? '');
}

test('logs information and above by default', () => {
  expect(written({}, 'Function.a')).toEqual(['information', 'warning', 'error', 'critical']);
});

test('the longest matching category wins; only whole names match', () => {
  const levels = {
    default: 'Error',
    Function: 'Warning',
    'Function.pay': 'Debug',
    'Function.pay.User': 'None',
  };
  expect(written(levels, 'Function.pay')).toEqual(['debug', 'information', 'warning', 'error', 'critical']);
  expect(written(levels, 'Function.pay.User')).toEqual([]);
  expect(written(levels, 'Function.payments')).toEqual(['warning', 'error', 'critical']);
  expect(written(levels, 'Host')).toEqual(['error', 'critical']);
});

test('writes one line: time, level, function, invocation, message', () => {
  const lines: string[] = [];
  createLogger({}, (line) => lines.push(line)).log('warning', 'Function.a', 'careful', {
    functionName: 'a',
    invocationId: 'i-1',
  });
  expect(lines).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z warn {2}a i-1 careful$/)]);
});
