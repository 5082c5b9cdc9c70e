import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { isRecord, variableValue } from './bicep/evaluate.ts';
import { parseBicepText } from './bicep/parseBicep.ts';
import { appBicepPaths, declarationsOf, infraDir, readInfra } from './bicep/readBicep.ts';
import { queueDifferences, serviceBusQueuesIn, storageQueuesIn } from './compareQueues.ts';
import { callsWithoutNeed, roleDifferences } from './compareRoles.ts';
import { settingDifferences } from './compareSettings.ts';
import { sources } from './sources.ts';

/** An infra/ file with one text replaced. */
function infraWith(path: string, from: string | RegExp, to: string) {
  return declarationsOf(parseBicepText(path, replaced(readFileSync(join(infraDir, path), 'utf8'), from, to)));
}

/** The sources with one text replaced in one file. */
function sourcesWith(path: string, from: string | RegExp, to: string): ReadonlyMap<string, string> {
  return new Map([...sources, [path, replaced(sources.get(path) ?? '', from, to)]]);
}

function replaced(text: string, from: string | RegExp, to: string): string {
  const changed = text.replace(from, to);
  if (changed === text) throw new Error(`nothing to replace: ${from}`);
  return changed;
}

/** A change to only the code or only infra/ must fail a comparison. Each test changes exactly one thing. */
describe('the comparisons of code and infra/ detect', () => {
  const code = { storage: Object.values(queues), serviceBus: Object.values(serviceBusQueues) };
  const storage = readInfra('modules/storage.bicep');
  const serviceBus = readInfra('modules/serviceBus.bicep');
  const created = (files: { storage: typeof storage; serviceBus: typeof serviceBus }) => ({
    storage: storageQueuesIn(files.storage),
    serviceBus: serviceBusQueuesIn(files.serviceBus).map(({ name }) => name),
  });
  const infra = appBicepPaths().map(readInfra);
  const infraBut = (path: string, from: string | RegExp) =>
    appBicepPaths().map((other) => (other === path ? infraWith(path, from, '') : readInfra(other)));

  test('a queue renamed in the code', () => {
    const renamed = { ...code, storage: Object.values({ ...queues, workItems: 'work' }) };
    expect(queueDifferences(renamed, created({ storage, serviceBus }))).toEqual({
      missing: ['work'],
      idle: [queues.workItems],
    });
    const other = {
      ...code,
      serviceBus: Object.values({ ...serviceBusQueues, paymentCommands: 'commands' }),
    };
    expect(queueDifferences(other, created({ storage, serviceBus }))).toEqual({
      missing: ['commands'],
      idle: [serviceBusQueues.paymentCommands],
    });
  });

  test('a queue renamed in infra/', () => {
    const changed = infraWith(
      'modules/serviceBus.bicep',
      `'${serviceBusQueues.paymentCommands}'`,
      `'commands'`,
    );
    expect(queueDifferences(code, created({ storage, serviceBus: changed })).missing).toEqual([
      serviceBusQueues.paymentCommands,
    ]);
    const without = infraWith('modules/storage.bicep', `  '${queues.workItemsPoison}'\n`, '');
    expect(queueDifferences(code, created({ storage: without, serviceBus })).missing).toEqual([
      queues.workItemsPoison,
    ]);
  });

  test('a setting that the code starts to read, and one that it no longer reads', () => {
    const values = variableValue(readInfra('modules/functionApp.bicep'), 'appSettings');
    const set = isRecord(values) ? Object.keys(values) : [];
    const path = 'src/settings/readSettings.ts';
    const more = sourcesWith(path, /^(\s*)(BATCH_SIZE: )/m, '$1NEW_SETTING: wholeNumber(1, 1, 2),\n$1$2');
    expect(settingDifferences(more, set).missing).toEqual(['NEW_SETTING']);
    const less = sourcesWith(path, /BATCH_SIZE/g, 'batchSize');
    expect(settingDifferences(less, set).unread).toEqual(['BATCH_SIZE']);
  });

  test.each([
    ['modules/storage.bicep', 'Storage Table Data Contributor'],
    ['modules/serviceBus.bicep', 'Azure Service Bus Data Owner'],
    ['modules/cosmos.bicep', 'payonce audit appender'],
    ['modules/keyVault.bicep', 'Key Vault Secrets User'],
  ])('a role removed from %s: %s', (path, name) => {
    const files = infraBut(path, new RegExp(`  \\{\\n    name: '${name}'\\n(?:    .*\\n)+  \\}\\n`));
    const { missing, idle } = roleDifferences(sources, files);
    expect(missing).toEqual([expect.stringContaining(`${name} (`)]);
    expect(idle).toEqual([]);
  });

  test('a role that the code no longer needs', () => {
    const less = new Map(
      [...sources].map(([path, text]) => [path, text.replace(/\.createSender\(/g, '.open(')]),
    );
    expect(roleDifferences(less, infra).idle).toEqual([
      expect.stringContaining('Azure Service Bus Data Sender'),
    ]);
  });

  test.each([
    [
      'a client',
      `import { TableClient } from '@azure/data-tables';\nnew TableClient(url);`,
      'new TableClient(',
    ],
    [
      'a client from a connection string',
      `import { SecretClient, type X } from '@azure/keyvault-secrets';\nSecretClient.fromText(x);`,
      'new SecretClient(',
    ],
    ['a trigger', `import { app } from '@azure/functions';\napp.eventGrid('x', {});`, 'app.eventGrid('],
    ['a session', `client.acceptNextSession('queue');`, '.acceptNextSession('],
  ])('%s for a service without a role', (_what, text, call) => {
    expect(callsWithoutNeed(new Map([...sources, ['src/platform/new.ts', text]]))).toEqual([call]);
  });
});
