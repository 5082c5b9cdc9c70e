import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { writePages } from '../../scripts/library/pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('the README of the package leads to each of its guides, and to no page that it lacks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-pages-'));
  try {
    writePages(root, folder);
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(readme).toMatch(/^# payonce\n/);
    const targets = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const guides = readdirSync(join(root, 'docs', 'guides')).map((name) => `docs/guides/${name}`);
    expect(targets.filter((target) => !/^[a-z]+:/.test(target)).toSorted()).toEqual(guides.toSorted());
    expect(readdirSync(join(folder, 'docs', 'guides'))).toEqual(readdirSync(join(root, 'docs', 'guides')));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
