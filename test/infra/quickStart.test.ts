import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './sources.ts';

const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');

/** The steps by their number, each with its text and the commands in its blocks. */
const steps = (/^## Quick start$(.*?)^## /ms.exec(page)?.[1] ?? '')
  .split(/^(?=\*\*\d\.)/m)
  .slice(1)
  .map((text) => ({
    text,
    blocks: [...text.matchAll(/^```\n(.*?)^```/gms)].map(([, block = '']) => block),
  }));
const bash = steps.flatMap(({ blocks }) => blocks.slice(0, 1)).join('');
const powerShell = steps.flatMap(({ blocks }) => blocks.slice(1, 2)).join('');

test('the page opens with the steps from nothing to one paid invoice, and back to nothing', () => {
  expect(page.indexOf('## Quick start')).toBeLessThan(200);
  const titles = [...page.matchAll(/^\*\*(\d)\. (\w+)/gm)].map(([, number, verb]) => `${number} ${verb}`);
  expect(titles).toEqual(['1 Install', '2 Sign', '3 Deploy', '4 Get', '5 Pay', '6 Remove']);
});

test('every program that a step calls is installed by the first, on Windows too', () => {
  const installed: Readonly<Record<string, string>> = {
    azd: 'Microsoft.Azd',
    az: 'Microsoft.AzureCLI',
    npm: 'OpenJS.NodeJS',
    git: 'Git.Git',
  };
  const called = new Set(
    [...bash.matchAll(/(?:^|\$\(|\| (?:xargs )?)(az|azd|npm|git) /gm)].map(([, program = '']) => program),
  );
  expect([...called].toSorted()).toEqual(['az', 'azd', 'npm']);
  for (const program of [...called, 'git']) {
    expect(steps[0]?.blocks[0]).toContain(installed[program] ?? 'unknown program');
  }
});

test('both command lines are signed in before they are used', () => {
  const [, signIn, deployment] = steps;
  expect(signIn?.blocks[0]).toMatch(/^azd auth login\naz login\n/);
  expect(deployment?.blocks[0]).toBe('azd up\n');
});

test.each([
  ['bash', bash, /^(?:export )?([A-Z_]+)=/, /\$([A-Z_]+)/g],
  ['PowerShell', powerShell, /^\$(?:env:)?([A-Z_]+) = /, /\$(?:env:)?([A-Z_]+)/g],
])('every variable is set before it is read, the function key by a command (%s)', (_, text, set, read) => {
  const known = new Set<string>();
  for (const line of text.split('\n')) {
    const assigned = set.exec(line)?.[1];
    const value = assigned === undefined ? line : line.slice(line.indexOf('=') + 1);
    const unknown = [...value.matchAll(read)].filter(([, name = '']) => !known.has(name));
    expect({ line, unknown: unknown.map(([name]) => name) }).toEqual({ line, unknown: [] });
    if (assigned !== undefined) known.add(assigned);
    if (assigned === 'FUNCTIONS_KEY') expect(value).toContain('az functionapp keys list ');
  }
  expect(known).toContain('FUNCTIONS_KEY');
});

test('what pays the test invoice finds its keys in the variables that the steps set', () => {
  const script = readFileSync(join(root, 'scripts/payOne.ts'), 'utf8');
  for (const name of ['FUNCTIONS_KEY', 'STRIPE_SECRET_KEY']) {
    expect(script).toContain(name);
    expect(bash).toMatch(new RegExp(`^export ${name}\\b`, 'm'));
  }
});

test('the regions are named where one is asked for', () => {
  const { text = '' } = steps[2] ?? {};
  const regions = /These regions offer [^:]+: ([^.]+)\./.exec(text)?.[1]?.split(', ') ?? [];
  expect(regions.length).toBeGreaterThan(20);
  expect(regions).toContain('Sweden Central');
  // These have no zone-redundant storage, which the deployment asks for.
  for (const region of ['West US', 'North Central US', 'UK West', 'Australia Southeast']) {
    expect(regions).not.toContain(region);
  }
});
