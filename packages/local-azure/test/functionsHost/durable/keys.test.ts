import { expect, inject, test } from 'vitest';
import { clientCall, newHubName, start, startDurableHost, webhook } from './durableApp.ts';

test('with --enable-auth the webhooks ask for a key, which links contain; the client in the app needs none', async () => {
  const settings = {
    args: ['--enable-auth'],
    env: { FUNCTIONS_MASTER_KEY: 'the-master', FUNCTIONS_HOST_KEY: 'the-host' },
  };
  await using host = await startDurableHost(inject('azurite'), newHubName(), 'a', settings);
  const id = await start(host, 'fanOut', { count: 1, ms: 1 }, 'by-client');
  expect(await clientCall(host, 'getStatus', id)).toMatchObject({ instanceId: id });

  const statusOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).status;
  const status = webhook(host, `instances/${id}`);
  expect(await statusOf(status)).toBe(401);
  expect(await statusOf(`${status}?code=wrong`)).toBe(401);
  expect(await statusOf(`${status}?code=the-host`)).toBe(401);
  expect(await statusOf(webhook(host, 'orchestrators/fanOut'), { method: 'POST' })).toBe(401);
  expect(await statusOf(`${status}?code=the-master`)).toBeLessThan(300);

  const started = await fetch(webhook(host, 'orchestrators/fanOut?code=the-master'), {
    method: 'POST',
    body: JSON.stringify({ count: 1, ms: 1 }),
  });
  expect(started.status).toBe(202);
  const { statusQueryGetUri } = (await started.json()) as { statusQueryGetUri: string };
  expect(await statusOf(statusQueryGetUri)).toBeLessThan(300);
  expect(await statusOf(statusQueryGetUri.replace(/&code=[^&]+/, ''))).toBe(401);

  // Only the task hub runs an orchestrator: the manual run is taken, and the log says that nothing came of it.
  const manual = await fetch(`${host.address}/admin/functions/fanOut`, {
    method: 'POST',
    body: '{"input":""}',
    headers: { 'content-type': 'application/json', 'x-functions-key': 'the-master' },
  });
  expect(manual.status).toBe(202);
  await host.line(/fanOut.*it cannot be run by hand/);
});
