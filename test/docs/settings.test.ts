import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/readSettings.ts';
import { BadSettings } from '../../src/settings/settings.ts';
import { settingDifferences } from '../infra/compareSettings.ts';
import { root, sources } from '../infra/sources.ts';

const page = readFileSync(join(root, 'docs/settings.md'), 'utf8');
const rows = [...page.matchAll(/^\| (`.+?) \| (.*?) ?\| (.*?) ?\| (.+) \|$/gm)].map(
  ([, names = '', fallback = '', bounds = '']) => ({ names: quoted(names), fallback, bounds }),
);
const named = rows.flatMap(({ names }) => names);
const defaults = rows.flatMap(({ names: [name = ''], fallback }) =>
  quoted(fallback).map((value) => [name, value] as const),
);
const ranges = rows.flatMap(({ names: [name = ''], bounds }) => {
  const [, least, most] = /^(\d+) to (\d+)(?:, at most .*)?$/.exec(bounds) ?? [];
  return least === undefined ? [] : [[name, Number(least), Number(most)] as const];
});

/** All that has no default. */
const needed = {
  AzureWebJobsStorage__accountName: 'stpayonceabc',
  Cosmos__accountEndpoint: 'https://cosmos-payonce-abc.documents.azure.com:443/',
  ServiceBus__fullyQualifiedNamespace: 'sb-payonce-abc.servicebus.windows.net',
  STRIPE_SECRET_KEY: ['sk', 'test', 'x'].join('_'),
};

test('the table has each setting that the code reads, and no other', () => {
  const { missing, unread } = settingDifferences(sources, named);
  // The two that a connection may have besides are explained with their connection.
  expect(missing.filter((name) => !/__(credential|clientId)$/.test(name))).toEqual([]);
  expect(unread).toEqual([]);
});

describe('defaults', () => {
  test.each(defaults)('%s is %s if it is not set', (name, value) => {
    const machine = { hostname: 'box', pid: 7 };
    expect(readSettings({ ...needed, [name]: value }, machine)).toEqual(readSettings(needed, machine));
  });

  test('are on the page', () => expect(defaults.length).toBeGreaterThan(10));
});

describe('bounds', () => {
  /** Far enough apart for the bounds that depend on each other. */
  const wide = { ...needed, SHARDS: '256', SHARD_GROUPS: '1', CLAIM_STALE_SECONDS: '86400' };

  test.each(ranges)('%s takes %i to %i and nothing beyond', (name, least, most) => {
    const refusals = (value: number) => refusalsOf({ ...wide, [name]: `${value}` });
    expect([least, most].map(refusals)).toEqual([[], []]);
    const outside = expect.stringContaining(`${name}: expected a whole number from ${least} to ${most}`);
    expect([least - 1, most + 1].map(refusals)).toEqual([[outside], [outside]]);
  });

  test('are on the page', () => expect(ranges.length).toBeGreaterThan(7));
});

function refusalsOf(env: Record<string, string>): readonly string[] {
  try {
    readSettings(env);
    return [];
  } catch (error) {
    if (error instanceof BadSettings) return error.problems;
    throw error;
  }
}

function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
