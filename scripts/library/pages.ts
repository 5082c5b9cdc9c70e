import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files of the repository that the package has as they are, but for their links. */
const guides = 'docs/guides';

/**
 * Writes the package's README and guides. The README is the part of the repository's that is about the library. A link to a
 * page that the package does not have becomes plain text.
 */
export function writePages(root: string, folder: string): void {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [, section] = /^(## Use the parts\n[\s\S]*?)(?=^## )/m.exec(readme) ?? [];
  if (section === undefined) throw new Error('README.md has no section "Use the parts"');
  const pages = new Map([['README.md', `# payonce\n\n${section.replace(/^## .*\n+/, '')}`]]);
  for (const name of readdirSync(join(root, guides))) {
    const path = `${guides}/${name}`;
    pages.set(path, readFileSync(join(root, path), 'utf8'));
  }
  for (const [path, text] of pages) {
    const to = join(folder, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, withinPackage(path, text, pages));
  }
}

function withinPackage(page: string, text: string, pages: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, target: string) => {
    if (/^[a-z]+:|^#/.test(target)) return link;
    const path = join(dirname(page), target.split('#')[0] ?? '').replaceAll('\\', '/');
    return pages.has(path) ? link : label;
  });
}
