import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeWith, findProgram } from '../support/servers/findProgram.ts';
import { root } from './sources.ts';
import { runJob, workflowJob } from './workflowSteps.ts';

/*
 * The commands of the workflows, run here as on a runner, with stand-ins for az, npm, docker and the like: what they are called
 * with, what they get from the steps before, and that nothing goes on after a failure.
 */

const folder = join(root, '.github/workflows');
const jobs = Object.fromEntries(
  readdirSync(folder).flatMap((file) => {
    const { jobs: all } = z
      .object({ jobs: z.record(z.string(), workflowJob) })
      .parse(parse(readFileSync(join(folder, file), 'utf8')));
    return Object.entries(all).map(([name, job]) => [`${file} ${name}`, job] as const);
  }),
);
const named = (name: string) => workflowJob.parse(jobs[name]);

const programs = { bash: findProgram('bash'), jq: findProgram('jq'), openssl: findProgram('openssl') };

describeWith({ ...programs, sha256sum: findProgram('sha256sum') }, 'deploy.yml package', () => {
  const job = named('deploy.yml package');
  const commit = '0123456789012345678901234567890123456789';
  const signature = 'gh attestation verify';
  const signed = [{ verificationResult: { signature: { certificate: { sourceRepositoryDigest: commit } } } }];
  const answers = { 'gh run list': '17', [signature]: JSON.stringify(signed) };
  const files = { 'dist/payonce.zip': 'a package' };
  const given = (text: string) => ({
    ...job,
    steps: job.steps.map(({ env, ...step }) => ({ ...step, env: { ...env, PACKAGE: text } })),
  });
  const verified =
    'gh attestation verify dist/payonce.zip --repo github.repository' +
    ' --signer-workflow github.repository/.github/workflows/ci.yml --source-ref refs/heads/main --format json';

  test.each([
    ['a run', '42', ['gh run download 42 --name payonce --dir dist']],
    ['a release', 'v1.2.3', ['gh release download v1.2.3 --pattern payonce.zip --dir dist']],
    [
      'the newest green run of main',
      '',
      [
        'gh run list --workflow ci.yml --branch main --event push --status success --limit 1 --json databaseId --jq .[0].databaseId',
        'gh run download 17 --name payonce --dir dist',
      ],
    ],
  ])(
    'takes the package of %s, with its checksum and the commit that was signed',
    async (_, text, commands) => {
      const { called, failed, outputs } = await runJob(given(text), { answers, files });
      expect(failed).toBeUndefined();
      expect(called.map(({ command }) => command)).toEqual([...commands, verified]);
      expect(outputs.package).toEqual({ commit, sha256: sha256('a package') });
    },
  );

  test.each(['gh run download', signature])('hands nothing over if `%s` fails', async (failing) => {
    const { failed, outputs } = await runJob(given('42'), { answers, files, failing });
    expect(failed?.step).toBe('Take what CI has signed');
    expect(outputs).toEqual({});
  });

  test('hands nothing over if the signature names no commit', async () => {
    const { failed } = await runJob(given('42'), { answers: { ...answers, [signature]: '[]' }, files });
    expect(failed?.step).toBe('Take what CI has signed');
  });
});

describeWith({ ...programs, sha256sum: findProgram('sha256sum') }, 'deploy.yml deploy', () => {
  const deploy = named('deploy.yml deploy');
  const outputs = {
    AZURE_FUNCTION_APP_NAME: { type: 'String', value: 'func-payonce' },
    AZURE_RESOURCE_GROUP: { type: 'String', value: 'rg-payonce' },
    KEY_VAULT_NAME: { type: 'String', value: 'kv-payonce' },
    OPS_ADDRESS: { type: 'String', value: 'https://func-payonce.azurewebsites.net/api/ops' },
  };
  const deployment = 'az deployment sub create';
  const answers = { [deployment]: JSON.stringify(outputs) };
  const files = { 'dist/payonce.zip': 'a package' };
  const needs = { sha256: sha256('a package'), commit: 'c' };
  const given = { answers, files, needs };
  const commands = [
    'npm ci --omit=dev --ignore-scripts',
    'npm run check-key',
    'npm run check-target',
    `${deployment} --name payonce-AZURE_ENV_NAME --location AZURE_LOCATION --template-file infra/main.bicep` +
      ' --parameters infra/main.bicepparam --query properties.outputs --output json',
    'az functionapp deployment source config-zip --name func-payonce --resource-group rg-payonce --src dist/payonce.zip',
    'npm run verify-deployment',
  ];

  test('creates the resources, deploys to the app that they name, and checks it', async () => {
    const { called, failed } = await runJob(deploy, given);
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual(commands);
    expect(called.at(-1)?.env).toMatchObject({
      AZURE_SUBSCRIPTION_ID: 'AZURE_SUBSCRIPTION_ID',
      AZURE_FUNCTION_APP_NAME: 'func-payonce',
      AZURE_RESOURCE_GROUP: 'rg-payonce',
      KEY_VAULT_NAME: 'kv-payonce',
      OPS_ADDRESS: 'https://func-payonce.azurewebsites.net/api/ops',
    });
    // Every parameter of the template comes from a variable of the environment.
    const created = called.find(({ command }) => command.startsWith(deployment));
    expect(created?.env).toMatchObject({ PAYONCE_SHARDS: 'PAYONCE_SHARDS', PAYONCE_LOCKS: 'PAYONCE_LOCKS' });
  });

  test('ends green with the real checks, on an app that works', async () => {
    await using app = await aWorkingApp();
    const reached = { ...outputs, OPS_ADDRESS: { type: 'String', value: `${app.address}/api` } };
    // The interval is empty, as an unset variable of the environment is.
    const unset = { ...deploy.env, PAYONCE_INVOICE_INTERVAL_SECONDS: '', PAYONCE_OPS_CLIENT_ID: '' };
    const { called, failed } = await runJob(
      { ...deploy, env: unset },
      {
        ...given,
        answers: { [deployment]: JSON.stringify(reached) },
        real: ['npm run check-key', 'npm run verify-deployment'],
        runner: { AZURE_RESOURCE_MANAGER: app.address, HOME: process.env.HOME ?? '' },
      },
    );
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual(commands);
    expect(app.asked).toContain('/api/ops/locks');
  });

  test('deploys no other package than the one that was signed', async () => {
    const { called, failed } = await runJob(deploy, { ...given, files: { 'dist/payonce.zip': 'another' } });
    expect(failed?.step).toBe('Take only what was signed');
    expect(called.map(({ command }) => command)).toEqual(commands.slice(0, 1));
  });

  test.each([
    'npm ci',
    'npm run check-key',
    'npm run check-target',
    deployment,
    'az functionapp',
    'npm run verify-deployment',
  ])('goes no further if `%s` fails', async (failing) => {
    const { called, failed } = await runJob(deploy, { ...given, failing });
    expect(failed).toBeDefined();
    expect(called.at(-1)?.command.startsWith(failing)).toBe(true);
  });

  test.each(Object.keys(outputs))('deploys nothing if the resources have no %s', async (missing) => {
    const { [missing]: _, ...rest } = outputs as Record<string, unknown>;
    const { called, failed } = await runJob(deploy, {
      ...given,
      answers: { [deployment]: JSON.stringify(rest) },
    });
    expect(failed?.step).toBe('Create or update the resources');
    expect(called.at(-1)?.command).toMatch(/^az deployment sub create/);
  });
});

describeWith(programs, 'infra.yml', () => {
  test('compiles and lints the template, and its parameters', async () => {
    const { called, failed } = await runJob(named('infra.yml build'));
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual([
      'az bicep install',
      'az bicep build --file infra/main.bicep --stdout',
      'az bicep build-params --file infra/main.bicepparam --stdout',
      'az bicep lint --file infra/main.bicep',
    ]);
  });

  test('asks what a deployment would change, with the same template and parameters as one', async () => {
    const { called, failed } = await runJob(named('infra.yml what-if'));
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual([
      'az deployment sub what-if --location AZURE_LOCATION --validation-level ProviderNoRbac' +
        ' --template-file infra/main.bicep --parameters infra/main.bicepparam',
    ]);
  });
});

describeWith(programs, 'ci.yml', () => {
  const ci = Object.entries(jobs).filter(([name]) => name.startsWith('ci.yml'));

  test('there are jobs', () => {
    expect(ci.length).toBeGreaterThan(2);
  });

  // The local cloud says that it is ready, in the file that its step waits for.
  const answers = { 'nohup npm run cloud': 'ready' };

  test.each(ci)('%s', async (name, job) => {
    const { called, failed } = await runJob(job, { answers });
    expect(failed).toBeUndefined();
    expect(called[0]?.command).toBe(name === 'ci.yml sign' ? undefined : 'npm ci');
  });

  test('the password of the emulator’s database is strong enough for it, and new each time', async () => {
    const passwords = await Promise.all(
      [1, 2].map(async () => {
        const { outputs } = await runJob(named('ci.yml emulators'), { answers });
        return Object.values(outputs).find(({ MSSQL_SA_PASSWORD }) => MSSQL_SA_PASSWORD)?.MSSQL_SA_PASSWORD;
      }),
    );
    // https://learn.microsoft.com/sql/relational-databases/security/password-policy
    for (const password of passwords) expect(password).toMatch(/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{8,128}$/);
    expect(passwords[0]).not.toBe(passwords[1]);
  });
});

describe('the runner here', () => {
  test('refuses an expression that it does not know', async () => {
    const job = workflowJob.parse({
      steps: [{ run: 'true', env: { A: ['$', '{{ github.sha }}'].join('') } }],
    });
    await expect(runJob(job)).rejects.toThrow('github.sha');
  });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A stand-in for Azure Resource Manager and the app in one: keys, health, and timers that fire between any two looks at the locks. */
async function aWorkingApp() {
  const asked: string[] = [];
  let fence = 0;
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    fence += 1;
    const locks = ['jobs/sweep-outbox', 'jobs/process-invoices/0'].map((key) => ({ key, fence }));
    response.end(JSON.stringify({ functionKeys: { default: 'key' }, locks }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    address: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
