import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * The packages that a compiled file needs, at run time or for its types, directly or through the files that it imports.
 * `file` is relative to `folder` and has no extension.
 */
export function neededPackages(folder: string, file: string): Set<string> {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const open = [file];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    for (const extension of ['js', 'd.ts']) {
      for (const name of importsIn(readFileSync(join(folder, `${next}.${extension}`), 'utf8'))) {
        if (name.startsWith('.')) open.push(normalize(join(dirname(next), name.replace(/\.js$/, ''))));
        else if (!name.startsWith('node:')) packages.add(packageOf(name));
      }
    }
  }
  return packages;
}

function importsIn(text: string): string[] {
  const names = [
    ...text.matchAll(/^(?:import|export)\s[^'";]*?\sfrom ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm),
  ];
  return names.map(([, declared, called]) => declared ?? called ?? '');
}

/** `@azure/cosmos/models` → `@azure/cosmos`. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}
