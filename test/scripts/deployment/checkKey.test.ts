import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Payments, startPayments } from '../../../local/stripe/index.ts';
import { checkStripeKey, withoutKey } from '../../../scripts/deployment/stripeKey.ts';
import { removeFolder } from '../../support/removeFolder.ts';
import { runProgram } from '../../support/runProgram.ts';

const program = fileURLToPath(new URL('../../../scripts/deployment/checkKey.ts', import.meta.url));
const otherKey = ['sk', 'test', 'other'].join('_');
let payments: Payments;
beforeAll(async () => {
  payments = await startPayments();
});
afterAll(() => payments[Symbol.asyncDispose]());

describe('a key', () => {
  test('that Stripe knows is valid', async () => {
    expect(await checkStripeKey(payments.secretKey, payments.baseUrl)).toEqual({
      kind: 'valid',
      mode: 'test',
    });
  });

  test('that Stripe does not know is refused', async () => {
    expect(await checkStripeKey(otherKey, payments.baseUrl)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('does not know'),
    });
  });

  test.each(['', 'hunter2', 'pk_test_1', '@Microsoft.KeyVault(SecretUri=https://kv/secrets/x/)'])(
    'like %j is refused without a call',
    async (text) => {
      expect(await checkStripeKey(text, 'http://127.0.0.1:1')).toMatchObject({ kind: 'refused' });
    },
  );

  test('that may not read payments is refused, and told what it lacks', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { type: 'invalid_request_error', message: 'not permitted' } }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await checkStripeKey(otherKey, `http://127.0.0.1:${port}`)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('PaymentIntents'),
    });
    server.close();
  });

  test('is unclear if nobody answers', async () => {
    expect(await checkStripeKey(otherKey, 'http://127.0.0.1:1')).toMatchObject({ kind: 'unclear' });
  });
});

describe('npm run check-key', () => {
  const run = (env: Record<string, string>, ...args: string[]) =>
    runProgram(program, args, { PATH: process.env.PATH, STRIPE_API_BASE: payments.baseUrl, ...env });

  test('accepts a good key', async () => {
    expect(await run({ STRIPE_SECRET_KEY: payments.secretKey })).toEqual({
      code: 0,
      output: 'Stripe accepts the key (test mode)\n',
    });
  });

  test('stops the deployment at a bad one, without repeating it', async () => {
    const { code, output } = await run({ STRIPE_SECRET_KEY: otherKey });
    expect(code).toBe(1);
    expect(output).toContain('Nothing has been created');
    expect(output).not.toContain(otherKey);
  });

  test('without a key it goes on, and says that the app will wait', async () => {
    expect(await run({}, '--azd')).toMatchObject({ code: 0, output: expect.stringContaining('wait for it') });
    expect(await run({ KEY_VAULT_NAME: 'kv-1' }, '--azd')).toMatchObject({
      code: 0,
      output: expect.stringContaining('kv-1 stays as it is'),
    });
  });
});

test('the key leaves the environment file of azd, and nothing else does', () => {
  const text = 'A="1"\nSTRIPE_SECRET_KEY="x"\nMY_STRIPE_SECRET_KEY=2\n';
  expect(withoutKey(text)).toBe('A="1"\nMY_STRIPE_SECRET_KEY=2\n');
  expect(withoutKey('STRIPE_SECRET_KEY=x')).toBe('');
});

test('--forget finds that file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-azd-'));
  const file = join(folder, '.azure/test/.env');
  mkdirSync(join(folder, '.azure/test'), { recursive: true });
  writeFileSync(file, 'STRIPE_SECRET_KEY="x"\nAZURE_LOCATION="westeurope"\n');
  const env = { PATH: process.env.PATH, AZURE_ENV_NAME: 'test' };
  await promisify(execFile)(process.execPath, ['--', program, '--forget'], { cwd: folder, env });
  expect(readFileSync(file, 'utf8')).toBe('AZURE_LOCATION="westeurope"\n');
  await removeFolder(folder);
});
