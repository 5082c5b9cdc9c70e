import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const guides = 'docs/guides';

/** Writes the package's README (docs/parts.md) and guides. A link to a page that the package does not have becomes plain text. */
export function writePages(root: string, folder: string): void {
  const places = new Map([['docs/parts.md', 'README.md']]);
  for (const name of readdirSync(join(root, guides))) places.set(`${guides}/${name}`, `${guides}/${name}`);
  for (const [page, place] of places) {
    const text = readFileSync(join(root, page), 'utf8');
    const titled = place === 'README.md' ? text.replace(/^# .*/, '# payonce') : text;
    const to = join(folder, place);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, withinPackage(titled, page, places));
  }
}

/** The text of a page with its links as they lead from its place in the package. */
function withinPackage(text: string, page: string, places: ReadonlyMap<string, string>): string {
  const from = posix.dirname(places.get(page) ?? page);
  return text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, target: string) => {
    if (/^[a-z]+:|^#/.test(target)) return link;
    const [file = '', ...anchor] = target.split('#');
    const to = places.get(posix.join(posix.dirname(page), file));
    if (to === undefined) return label;
    return `[${label}](${[posix.relative(from, to), ...anchor].join('#')})`;
  });
}
