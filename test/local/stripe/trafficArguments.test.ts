import { describe, expect, test } from 'vitest';
import { trafficArguments } from '../../../local/stripe/trafficArguments.ts';
import { runProgram } from '../../support/runProgram.ts';
import { startProgram } from './paymentsForTests.ts';

test('reads rates and latency, under names with and without a prefix', () => {
  expect(
    trafficArguments({
      rate: '25',
      'search-rate': '20',
      'account-rate': '100',
      latency: '300',
      port: '1',
    }),
  ).toEqual({ rate: 25, searchRate: 20, accountRate: 100, latencyMs: 300 });
  expect(trafficArguments({ 'payments-latency': '0', rate: '25' }, 'payments-')).toEqual({ latencyMs: 0 });
  expect(trafficArguments({})).toEqual({});
});

const calls = 'a whole number of calls per second, 1 or more';
const milliseconds = 'a whole number of milliseconds, 0 or more';
describe('a bad value ends the program with code 2 before it starts anything', () => {
  test.each([
    ['local/stripe/main.ts', '--rate', '0', calls],
    ['local/stripe/main.ts', '--account-rate', '-1', calls],
    ['local/stripe/main.ts', '--latency', '0.3s', milliseconds],
    ['local/stripe/main.ts', '--search-lag', '', milliseconds],
    ['local/cloud.ts', '--payments-search-rate', '2.5', calls],
    ['local/cloud.ts', '--payments-account-rate', '0', calls],
    ['local/start.ts', '--search-rate', 'many', calls],
    ['local/start.ts', '--account-rate', '1e3', calls],
  ])('%s %s=%s', async (program, option, value, expected) => {
    const { code, output } = await runProgram(program, [`${option}=${value}`]);
    expect(output).toBe(`${option}: expected ${expected}, got "${value}"\n`);
    expect(code).toBe(2);
  });
});

test.each([
  ['local/stripe/main.ts', ['--rate N', '--search-rate N', '--account-rate N', '--latency MS']],
  [
    'local/cloud.ts',
    ['--payments-rate N', '--payments-search-rate N', '--payments-account-rate N', '--payments-latency MS'],
  ],
  ['local/start.ts', ['--rate N', '--search-rate N', '--account-rate N', '--latency MS']],
])('%s --help lists them', async (program, options) => {
  const { code, output } = await runProgram(program, ['--help']);
  for (const option of options) expect(output).toContain(option);
  expect(code).toBe(0);
});

test('npm run cloud -- payments limits what it is told to', async () => {
  const { stripe } = await startProgram('--search-rate', '1');
  const search = () => stripe.paymentIntents.search({ query: 'amount:1' });
  const searches = await Promise.allSettled(Array.from({ length: 20 }, search));
  const lists = await Promise.allSettled(Array.from({ length: 20 }, () => stripe.paymentIntents.list()));
  expect(searches.some(({ status }) => status === 'fulfilled')).toBe(true);
  expect(searches.some(({ status }) => status === 'rejected')).toBe(true);
  expect(lists.every(({ status }) => status === 'fulfilled')).toBe(true);
});
