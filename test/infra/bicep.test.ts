import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkModules, checkSymbols } from './bicep/checkSymbols.ts';
import { checkTypes } from './bicep/checkTypes.ts';
import { parseBicep, parseBicepText } from './bicep/parseBicep.ts';
import { bicepPaths, declarationsOf, infraDir, readInfra } from './bicep/readBicep.ts';
import { readSchemas } from './bicep/schemas.ts';

const paths = bicepPaths();
const schemas = readSchemas();
const queueModule = readFileSync(join(infraDir, 'modules/serviceBus.bicep'), 'utf8');

describe('every Bicep file', () => {
  test.each([...paths, 'main.bicepparam'])('%s parses', (path) => {
    expect(parseBicep(join(infraDir, path)).errors).toEqual([]);
  });

  test.each(paths)('%s uses only declared names, and uses all of them', (path) => {
    expect(checkSymbols(readInfra(path))).toEqual([]);
  });

  test.each(paths)('%s has only valid properties for its resource types', (path) => {
    expect(checkTypes(readInfra(path), schemas)).toEqual([]);
  });
});

test('main passes every module its parameters, and uses outputs that exist', () => {
  expect(checkModules(readInfra('main.bicep'), readInfra)).toEqual([]);
});

test('the app is deployed after the private endpoints: no reference in main implies that order', () => {
  const app = readInfra('main.bicep').modules.get('functionApp');
  expect(app?.body.text).toMatch(/^ {2}dependsOn: \[privateEndpoints\]$/m);
});

test('every module is used by main', () => {
  const used = [...readInfra('main.bicep').modules.values()].map(({ type }) => type);
  expect([...new Set(used)].toSorted()).toEqual(paths.filter((path) => path.startsWith('modules/')));
});

describe('the checks detect', () => {
  const checked = (text: string) => {
    const file = declarationsOf(parseBicepText('serviceBus.bicep', text));
    return [...file.errors, ...checkSymbols(file), ...checkTypes(file, schemas)];
  };

  test('nothing in the unchanged file', () => expect(checked(queueModule)).toEqual([]));

  test.each([
    [
      'a missing bracket',
      /\n {4}deadLetteringOnMessageExpiration: true\n {2}}/,
      '\n    a: true',
      /missing|unexpected/,
    ],
    [
      'a misspelt property',
      'maxDeliveryCount',
      'maxDeliverCount',
      /paymentCommands.properties.maxDeliverCount .*is not a property/,
    ],
    [
      'a value of the wrong type',
      'maxDeliveryCount: 10',
      "maxDeliveryCount: '10'",
      /maxDeliveryCount is '10', expected int/,
    ],
    [
      'a value that is not allowed',
      'name: tier\n',
      "name: 'Gold'\n",
      /sku.name is 'Gold', expected Basic \| Standard/,
    ],
    ['a missing property', '\n  location: location\n', '\n', /namespace.location is missing/],
    ['an undeclared name', 'parent: namespace', 'parent: nmspace', /nmspace is not declared/],
    [
      'an unused parameter',
      'param tags object',
      'param tags object\nparam unused string',
      /unused is declared but not used/,
    ],
    ['an unknown type', 'namespaces/queues@2024-01-01', 'namespaces/queues@2099-01-01', /no schema for/],
  ])('%s', (_what, from, to, problem) => {
    const changed = queueModule.replace(from, to);
    expect(changed).not.toBe(queueModule);
    expect(checked(changed).join('\n')).toMatch(problem);
  });
});
