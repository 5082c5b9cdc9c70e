import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { writePages } from '../../scripts/library/pages.ts';

const packages = fileURLToPath(new URL('../../packages/', import.meta.url));

test.each(['leases', 'lock-stores', 'jobs', 'local-azure'])(
  'the README of %s leads to pages that the package has, and to no other',
  (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'payonce-pages-'));
    try {
      writePages(join(packages, name), folder);
      const readme = readFileSync(join(folder, 'README.md'), 'utf8');
      const targets = [...readme.matchAll(/\]\(([^)\s#]+)/g)].map(([, target = '']) => target);
      const pages = targets.filter((target) => !/^[a-z]+:/.test(target));
      expect(pages.length).toBeGreaterThan(0);
      expect(pages.filter((page) => !existsSync(join(folder, page)))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
