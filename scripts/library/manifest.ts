import { z } from 'zod';
import { compiledPath } from './compileTo.ts';

/** The package.json of a package in this repository. */
export const workspaceManifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  private: z.literal(true),
  type: z.literal('module'),
  sideEffects: z.literal(false),
  /** Subpath → source. */
  exports: z.record(z.string().startsWith('.'), z.string().startsWith('./src/')),
  /** Every user of the package gets these. */
  dependencies: z.record(z.string(), z.string()).default({}),
  /** Clients and tools, each installed only by who imports the subpath that needs it. */
  peerDependencies: z.record(z.string(), z.string()).default({}),
  peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })).default({}),
});
export type WorkspaceManifest = z.infer<typeof workspaceManifest>;

/**
 * The package.json that is packed. `needed`: the packages that each subpath needs.
 *
 * @throws if a subpath needs two clients, whose users would have to install both, or a package that is not named
 */
export function packedManifest(
  manifest: WorkspaceManifest,
  needed: ReadonlyMap<string, ReadonlySet<string>>,
): Record<string, unknown> {
  const { private: _, exports, ...rest } = manifest;
  const named = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
  for (const [subpath, packages] of needed) {
    const clients = clientsAmong(manifest, packages);
    if (clients.length > 1) throw new Error(`${subpath} needs ${clients.join(' and ')}: at most one`);
    const unnamed = [...packages].filter((name) => !named.includes(name));
    if (unnamed.length > 0) throw new Error(`${subpath} needs ${unnamed.join()}, which package.json lacks`);
  }
  const used = new Set([...needed.values()].flatMap((packages) => [...packages]));
  const unused = named.filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`${manifest.name} names ${unused.join()} and needs none of it`);
  return {
    ...rest,
    exports: Object.fromEntries(
      Object.entries(exports).map(([subpath, source]) => [
        subpath,
        { types: compiledPath(source, 'd.ts'), default: compiledPath(source, 'js') },
      ]),
    ),
    // The oldest maintained one, from the release on that loads ES modules with `require`.
    engines: { node: '>=22.12' },
  };
}

/** Those that are installed only by who needs them. */
export function clientsAmong({ dependencies }: WorkspaceManifest, packages: Iterable<string>): string[] {
  return [...packages].filter((name) => !(name in dependencies));
}
