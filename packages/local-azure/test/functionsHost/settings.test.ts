import { expect, test } from 'vitest';
import { connectionString, parseEnvFile, resolveNames } from '../../src/functionsHost/settings.ts';

test('env file: a value is everything after the first =', () => {
  expect(
    parseEnvFile('# comment\nA=1\r\n\nServiceBus=Endpoint=sb://x;Key=a#b==\n  B = two words \nnonsense\n'),
  ).toEqual({
    A: '1',
    ServiceBus: 'Endpoint=sb://x;Key=a#b==',
    B: 'two words',
  });
});

test('%NAME% is replaced; a missing setting is an error that names it', () => {
  expect(resolveNames('%A%-%B%', { A: 'x', B: 'y' })).toBe('x-y');
  expect(() => resolveNames('%C%', {})).toThrow('the setting C (%C%) is not set');
});

test('connections: AzureWebJobs{name} first, then {name}; identity-based ones are refused by name', () => {
  expect(connectionString('Storage', { Storage: 'b', AzureWebJobsStorage: 'a' })).toBe('a');
  expect(connectionString('ServiceBus', { ServiceBus: 'b' })).toBe('b');
  expect(() => connectionString('X', {})).toThrow('the connection setting X is not set');
  expect(() => connectionString('X', { X__fullyQualifiedNamespace: 'n' })).toThrow(/X is identity-based/);
});
