import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Writes the README and the pages of a package. A link to a page that is not among them becomes plain text. */
export function writePages(from: string, folder: string): void {
  const docs = existsSync(join(from, 'docs')) ? readdirSync(join(from, 'docs')) : [];
  for (const page of ['README.md', ...docs.map((name) => `docs/${name}`)]) {
    const to = join(folder, page);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, withinPackage(readFileSync(join(from, page), 'utf8'), join(from, dirname(page)), from));
  }
}

function withinPackage(text: string, folder: string, home: string): string {
  return text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, target: string) => {
    if (/^[a-z]+:|^#/.test(target)) return link;
    const [file = ''] = target.split('#');
    return normalize(join(folder, file)).startsWith(normalize(home)) ? link : label;
  });
}
