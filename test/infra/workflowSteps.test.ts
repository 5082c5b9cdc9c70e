import { readdirSync, readFileSync } from 'node:fs';
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

describeWith(programs, 'deploy.yml', () => {
  const deploy = named('deploy.yml deploy');
  const outputs = {
    AZURE_FUNCTION_APP_NAME: { type: 'String', value: 'func-payonce' },
    AZURE_RESOURCE_GROUP: { type: 'String', value: 'rg-payonce' },
    OPS_ADDRESS: { type: 'String', value: 'https://func-payonce.azurewebsites.net/api/ops' },
  };
  const deployment = 'az deployment sub create';
  const answers = { [deployment]: JSON.stringify(outputs) };

  test('creates the resources, deploys to the app that they name, and checks it', async () => {
    const { called, failed } = await runJob(deploy, { answers });
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual([
      'npm ci --omit=dev --ignore-scripts',
      'sha256sum --check',
      'npm run check-key',
      `${deployment} --name payonce-AZURE_ENV_NAME --location AZURE_LOCATION --template-file infra/main.bicep` +
        ' --parameters infra/main.bicepparam --query properties.outputs --output json',
      'az functionapp deployment source config-zip --name func-payonce --resource-group rg-payonce --src dist/payonce.zip',
      'npm run verify-deployment',
    ]);
    expect(called.at(-1)?.env).toMatchObject({
      AZURE_SUBSCRIPTION_ID: 'AZURE_SUBSCRIPTION_ID',
      AZURE_FUNCTION_APP_NAME: 'func-payonce',
      AZURE_RESOURCE_GROUP: 'rg-payonce',
      OPS_ADDRESS: 'https://func-payonce.azurewebsites.net/api/ops',
    });
    // Every parameter of the template comes from a variable of the environment.
    const created = called.find(({ command }) => command.startsWith(deployment));
    expect(created?.env).toMatchObject({ PAYONCE_SHARDS: 'PAYONCE_SHARDS', PAYONCE_LOCKS: 'PAYONCE_LOCKS' });
  });

  test('builds the package without an identity, and hands it over by its checksum', async () => {
    const answers = { 'sha256sum dist/payonce.zip': 'abc123  dist/payonce.zip' };
    const { called, failed, outputs } = await runJob(named('deploy.yml build'), { answers });
    expect(failed).toBeUndefined();
    expect(called.map(({ command }) => command)).toEqual([
      'npm ci',
      'npm test',
      'npm run package',
      'sha256sum dist/payonce.zip',
    ]);
    expect(outputs.checksum).toEqual({ sha256: 'abc123' });
  });

  test.each(['npm ci', 'npm test', 'npm run package'])('builds nothing if `%s` fails', async (failing) => {
    const { called, failed } = await runJob(named('deploy.yml build'), { failing });
    expect(failed).toBeDefined();
    expect(called.at(-1)?.command.startsWith(failing)).toBe(true);
  });

  test.each([
    'npm ci',
    'sha256sum --check',
    'npm run check-key',
    deployment,
    'az functionapp',
    'npm run verify-deployment',
  ])('goes no further if `%s` fails', async (failing) => {
    const { called, failed } = await runJob(deploy, { answers, failing });
    expect(failed).toBeDefined();
    expect(called.at(-1)?.command.startsWith(failing)).toBe(true);
  });

  test.each(Object.keys(outputs))('deploys nothing if the resources have no %s', async (missing) => {
    const { [missing]: _, ...rest } = outputs as Record<string, unknown>;
    const { called, failed } = await runJob(deploy, { answers: { [deployment]: JSON.stringify(rest) } });
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

  test.each(ci)('%s', async (_name, job) => {
    const { called, failed } = await runJob(job, { answers });
    expect(failed).toBeUndefined();
    expect(called[0]?.command).toBe('npm ci');
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
