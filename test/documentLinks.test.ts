import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
const pages = [
  ...readdirSync(root),
  ...['docs', 'samples', 'packages'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
].filter((name) => name.endsWith('.md'));

describe.each(pages)('%s', (page) => {
  test('every link to a file or a section leads somewhere', () => {
    const broken = linksOf(page).filter(({ path, anchor }) => {
      if (!existsSync(path)) return true;
      return anchor !== undefined && !anchorsOf(path).includes(anchor);
    });
    expect(broken.map(({ text }) => text)).toEqual([]);
  });
});

test('the index of the docs names every page of the docs', () => {
  const named = linksOf(join('docs', 'README.md')).map(({ path }) => relative(join(root, 'docs'), path));
  const all = readdirSync(join(root, 'docs')).filter((name) => statSync(join(root, 'docs', name)).isFile());
  expect(all.filter((name) => name !== 'README.md' && !named.includes(name))).toEqual([]);
});

test('the list of decisions names every decision', () => {
  const folder = join(root, 'docs', 'decisions');
  const named = linksOf(join('docs', 'decisions', 'README.md')).map(({ path }) => relative(folder, path));
  expect(readdirSync(folder).filter((name) => name !== 'README.md' && !named.includes(name))).toEqual([]);
});

interface Link {
  /** As it is written. */
  text: string;
  path: string;
  anchor: string | undefined;
}

/** Links within the repository. */
function linksOf(page: string): Link[] {
  const targets = [...prose(join(root, page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((text) => {
      const [file = '', anchor] = text.split('#');
      const path = file === '' ? join(root, page) : join(root, dirname(page), file);
      return { text, path, anchor };
    });
}

/** Anchors of headings as GitHub makes them: lower case, punctuation dropped, hyphens for spaces. */
function anchorsOf(path: string): string[] {
  return [...prose(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The text of a page without its fenced code. */
function prose(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
}
