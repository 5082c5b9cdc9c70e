import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findProgram } from '../support/servers/findProgram.ts';
import { infraDir } from './bicep/readBicep.ts';

/** The compiler, from PATH, `az bicep install` or `.ci/install-bicep`. */
const bicep = findProgram('bicep', [
  join(homedir(), '.azure/bin'),
  join(homedir(), '.nuget/packages/azure.bicep.commandline.linux-x64/*/tools'),
]);

// infra.yml compiles with az on every pull request, so a machine without the compiler may skip this.
test.skipIf(bicep === undefined).each([
  ['build', 'main.bicep', '--stdout'],
  ['build-params', 'main.bicepparam', '--stdout'],
  ['lint', 'main.bicep'],
])('bicep %s %s: no error and no warning', { timeout: 180_000 }, (command, file, ...options) => {
  const { status, stderr } = spawnSync(bicep ?? '', [command, join(infraDir, file), ...options], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1' },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
