import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bicepPaths, infraDir, readInfra } from './bicep/readBicep.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const deployed = ['infra', '.github', 'azure.yaml', 'compose.yaml', 'host.json'].flatMap(filesUnder);

/** Patterns of keys, connection strings and tokens. `${{ … }}` only names a value. */
const secrets: [string, RegExp][] = [
  [
    'a connection string',
    /AccountKey=(?!\$)\S|SharedAccessKey=(?!\$|SAS_KEY_VALUE)\S|SharedAccessSignature=\S/,
  ],
  ['a Stripe key', /\b[rs]k_(live|test)_\w+/],
  ['a signed address', /[?&]sig=[\w%]{8,}/],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY/],
  ['a token', /\b(ghp|gho|github_pat|xox[bap])_\w{8,}|\beyJ[\w-]{20,}\./],
  ['a key in base64', /(?<![\w/+.-])[A-Za-z\d+/]{43}=|(?<![\w/+-])[A-Za-z\d+/]{86}==/],
  // The Stripe key is one only for the first deployment of an environment, and may be left out.
  ['a stored secret of the repository', /\$\{\{\s*secrets\.(?!GITHUB_TOKEN|STRIPE_SECRET_KEY\b)/],
  ['a password', /\b(password|clientSecret|pwd)\s*[:=]\s*['"][^'"$]/i],
];

test('there are files to check', () => {
  expect(deployed.length).toBeGreaterThan(10);
});

test.each(deployed)('%s contains no secret', (path) => {
  const text = readFileSync(join(root, path), 'utf8');
  expect(secrets.filter(([, pattern]) => pattern.test(text)).map(([what]) => what)).toEqual([]);
});

test.each(['AccountKey=abc', 'sk_live_51Habc', '?sv=2024&sig=abcdefgh%3D', 'password: "hunter2"'])(
  '%s would be detected',
  (text) => {
    expect(secrets.some(([, pattern]) => pattern.test(text))).toBe(true);
  },
);

test('shared keys are disabled in every service that has them', () => {
  const texts = new Map(bicepPaths().map((path) => [path, readInfra(path).root.text]));
  expect(texts.get('modules/storage.bicep')).toContain('allowSharedKeyAccess: false');
  expect(texts.get('modules/cosmos.bicep')).toContain('disableLocalAuth: true');
  expect(texts.get('modules/serviceBus.bicep')).toContain('disableLocalAuth: true');
  expect(texts.get('modules/monitoring.bicep')).toContain('DisableLocalAuth: true');
  for (const text of texts.values()) expect(text).not.toMatch(/\blist(Keys|ConnectionStrings|AccountSas)\(/);
});

test('every parameter that holds a secret is secure, in every module', () => {
  const params = bicepPaths().flatMap((path) => [...readInfra(path).params.values()]);
  const secret = params.filter(({ name }) => /key$|secrets?$|password/i.test(name));
  expect(secret.filter(({ decorators }) => !decorators.includes('secure'))).toEqual([]);
  expect(new Set(secret.map(({ name }) => name))).toEqual(
    new Set(['stripeSecretKey', 'stripeWebhookSecrets', 'notifyWebhookSecret']),
  );
  const outputs = readFileSync(join(infraDir, 'main.bicep'), 'utf8').match(/^output .*$/gm) ?? [];
  expect(outputs.filter((output) => /secretKey|webhookSecret|connectionString/i.test(output))).toEqual([]);
});

function filesUnder(path: string): string[] {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [path];
  return readdirSync(full, { recursive: true, encoding: 'utf8' })
    .map((name) => `${path}/${name.replaceAll('\\', '/')}`)
    .filter((name) => statSync(join(root, name)).isFile());
}
