// npm run package -- release [--out DIR] [--force]: keeps the package of this version, without its dependencies, as
// test/releases/payonce-VERSION.zip. The tests there run it next to the sources. The zip is reproducible.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleOwnCode } from './bundle.ts';
import { appVersion, checkTypes, zipOf } from './compile.ts';

/** Megabytes. The zip stays in the repository for good. */
const largest = 1;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: fileURLToPath(new URL('../test/releases', import.meta.url)) },
    force: { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'payonce-release-'));
try {
  const problem = await keep();
  if (problem !== undefined) {
    console.error(problem);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns why nothing was kept, or undefined. */
async function keep(): Promise<string | undefined> {
  const path = join(values.out, `payonce-${appVersion()}.zip`);
  if (existsSync(path) && !values.force) {
    return `${path} exists: expected a new version in package.json, or --force to replace a release`;
  }
  checkTypes();
  await bundleOwnCode(folder);
  const zip = zipOf(folder);
  if (zip.length > largest * 1e6) {
    return `${zip.length} bytes: expected at most ${largest} MB (scripts/keepRelease.ts)`;
  }
  mkdirSync(values.out, { recursive: true });
  writeFileSync(path, zip);
  console.log(`${path}: ${Math.ceil(zip.length / 1e3)} KB`);
  return undefined;
}
