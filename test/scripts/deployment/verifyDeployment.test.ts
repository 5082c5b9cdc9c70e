import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startHostProcess } from '../../support/functionsHostProcess.ts';
import { settingsFor, startLocalCloud } from '../../support/localCloud.ts';
import { runProgram } from '../../support/runProgram.ts';

const program = fileURLToPath(new URL('../../../scripts/deployment/verifyDeployment.ts', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

test('the app in the local host passes what a deployment has to pass', { timeout: 120_000 }, async () => {
  await using cloud = await startLocalCloud();
  await using host = await startHostProcess({
    app: root,
    env: { ...settingsFor(cloud), INVOICE_SCHEDULE: '*/5 * * * * *', OUTBOX_SCHEDULE: '*/5 * * * * *' },
  });
  const managed: string[] = [];
  const manager = createServer((request, response) => {
    managed.push(`${request.method} ${request.url}`);
    response.end(JSON.stringify({ functionKeys: { default: 'key' } }));
  });
  await new Promise<void>((resolve) => manager.listen(0, '127.0.0.1', resolve));
  const address = manager.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { code, output } = await runProgram(program, [], {
    PATH: process.env.PATH,
    AZURE_SUBSCRIPTION_ID: 's',
    AZURE_RESOURCE_GROUP: 'g',
    AZURE_FUNCTION_APP_NAME: 'a',
    KEY_VAULT_NAME: 'v',
    OPS_ADDRESS: `${host.address}/api`,
    AZURE_RESOURCE_MANAGER: `http://127.0.0.1:${port}`,
  });
  manager.close();
  expect({ code, output }).toEqual({
    code: 0,
    output: [
      'triggers are synchronized',
      'ops/health is ok',
      'the timer of sweepOutbox fires',
      'a run happened',
      'the deployment works',
      '',
    ].join('\n'),
  });
  const site = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/a';
  expect(managed).toEqual([
    `POST ${site}/syncfunctiontriggers?api-version=2024-11-01`,
    `POST ${site}/host/default/listKeys?api-version=2024-11-01`,
  ]);
});

test('without the outputs of the deployment it names what is missing', async () => {
  const { code, output } = await runProgram(program, [], { PATH: process.env.PATH });
  expect(code).toBe(2);
  expect(output).toContain('AZURE_FUNCTION_APP_NAME');
});
