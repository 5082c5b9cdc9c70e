import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './sources.ts';

const { packages } = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        integrity: z.string().optional(),
        link: z.boolean().default(false),
        dev: z.boolean().default(false),
        optional: z.boolean().default(false),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
// Folders of this repository, and the links to them, have no hash.
const entries = Object.entries(packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
);

/** Programs of the linters for systems other than the pipeline's (Linux with glibc, x64). docs/threat-model.md names them. */
const forOtherSystems =
  /^node_modules\/((@oxfmt|@oxlint)\/binding|@oxlint-tsgolint)[-/](android|darwin|freebsd|openharmony|win32|linux-(arm|ppc64|riscv64|s390x|x64-musl))/;

test('whatever is deployed, or runs in the pipeline, has a hash in the lock file', () => {
  const without = entries.filter(([, { integrity }]) => integrity === undefined);
  const unnamed = without.filter(
    ([path, { dev, optional }]) => !(dev && optional && forOtherSystems.test(path)),
  );
  expect(unnamed.map(([path]) => path)).toEqual([]);
});

test('each hash is a strong one', () => {
  for (const [, { integrity }] of entries) {
    if (integrity !== undefined) expect(integrity).toMatch(/^sha512-/);
  }
});
