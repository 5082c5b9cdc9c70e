import { X509Certificate } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startHostProcess, surroundings } from '../../../test/support/functionsHostProcess.ts';
import { removeFolder } from '../../../test/support/removeFolder.ts';
import { runProgram } from '../../../test/support/runProgram.ts';
import { certificateIn } from '../src/certificate.ts';
import { startServices } from '../src/services.ts';

const beside = (path: string) => fileURLToPath(new URL(path, import.meta.url));

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tls-'));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

test('a certificate is made once, for this machine', () => {
  const folder = newFolder();
  const { cert, key } = certificateIn(folder);
  expect(certificateIn(folder)).toMatchObject({ cert, key });
  const certificate = new X509Certificate(cert);
  expect([certificate.checkHost('localhost'), certificate.checkIP('127.0.0.1')]).toEqual([
    'localhost',
    '127.0.0.1',
  ]);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkHost('example.com')).toBe(undefined);
});

test('clients with a credential reach every service, and so does a host by the settings', async () => {
  const folder = newFolder();
  const config = join(folder, 'Config.json');
  writeFileSync(config, '{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"orders"}]}]}}');
  const ports = { cosmos: 0, serviceBus: 0, serviceBusHttp: 0, azurite: 0 };
  const tls = certificateIn(folder);
  const services = await startServices({ ports, partitions: 1, serviceBusConfig: config, tls });
  onTestFinished(() => services.stop());
  const { settings } = services;
  const storage = settings.AzureWebJobsStorage ?? '';
  const env = {
    ...surroundings(),
    NODE_EXTRA_CA_CERTS: settings.NODE_EXTRA_CA_CERTS,
    COSMOS_ENDPOINT: services.cosmos.endpoint,
    SERVICE_BUS_NAMESPACE: `localhost:${services.serviceBus.port}`,
    BLOB_ENDPOINT: /BlobEndpoint=([^;]+)/.exec(storage)?.[1],
    STORAGE: storage,
  };
  const { output } = await runProgram(beside('tlsClients.ts'), [], env);
  expect(output).toBe('cosmos 1\nserviceBus over TLS\nblobs true\n');
  // Whoever does not trust the certificate does not connect.
  const { NODE_EXTRA_CA_CERTS: _, ...trusting } = env;
  expect((await runProgram(beside('tlsClients.ts'), [], trusting)).output).toMatch(/self-signed certificate/);

  const envFile = join(folder, 'env');
  const lines = { ...settings, QUEUE_NAME: 'on-queue', EVERY_SECOND: '0 0 1 1 *' };
  writeFileSync(
    envFile,
    Object.entries(lines)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  await using host = await startHostProcess({
    app: beside('functionsHost/fixtures/esmApp'),
    env: {},
    args: ['--env-file', envFile],
  });
  await host.line(/SEEN queue .*"n":1/);
}, 60_000);
