import { expect, test } from 'vitest';
import { runProgram } from '../support/runProgram.ts';

const port = 'a whole number from 0 to 65535';

test.each([
  ['local/cloud.ts', '--cosmos-port', '65536', port],
  ['packages/local-azure/src/cosmos/main.ts', '--port', '', port],
  ['packages/local-azure/src/functionsHost/main.ts', '--port', '7071.5', port],
  ['packages/local-azure/src/serviceBus/main.ts', '--port', '5672x', port],
  ['packages/local-azure/src/serviceBus/main.ts', '--http-port', '-1', port],
  ['local/start.ts', '--instances', '21', 'a whole number from 1 to 20'],
  ['local/stripe/main.ts', '--port', '1e3', port],
])('%s %s=%s ends with code 2, without a stack trace', async (program, option, value, expected) => {
  const { code, output } = await runProgram(program, [`${option}=${value}`]);
  expect(output).toBe(`${option}: expected ${expected}, got "${value}"\n`);
  expect(code).toBe(2);
});
