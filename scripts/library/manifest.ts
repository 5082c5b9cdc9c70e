import { z } from 'zod';
import { compiledPath } from './compileLibrary.ts';

/** As much of the repository's package.json as the library's is made of. */
export const rootManifest = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  /** The one list of what the library exports: subpath → source. */
  exports: z.record(z.string().startsWith('./'), z.string().startsWith('./src/')),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()).default({}),
});
export type RootManifest = z.infer<typeof rootManifest>;

/** Packages that the parts need themselves. Every other one is a client or a tool, to be installed only by who uses it. */
const ordinary: readonly string[] = ['zod', 'p-limit'];

/** Subpaths without a slash that need something all the same; the other parts need no client. */
const exceptions: Readonly<Record<string, string>> = {
  './testing': 'vitest',
  './open-telemetry': '@opentelemetry/api',
};

/**
 * The package.json of the library. `needed`: the packages that each subpath needs.
 *
 * @throws if a subpath needs more than its one client: its users would have to install the others too
 */
export function libraryManifest(
  root: RootManifest,
  needed: ReadonlyMap<string, ReadonlySet<string>>,
): Record<string, unknown> {
  for (const [subpath, packages] of needed) checkClients(subpath, clientsAmong(packages));
  const all = [...new Set([...needed.values()].flatMap((packages) => [...packages]))].toSorted();
  const own = all.filter((name) => ordinary.includes(name));
  const peers = clientsAmong(all);
  return {
    name: root.name,
    version: root.version,
    description: 'Leases with fencing tokens, claims, an outbox, queued work and runs of jobs.',
    license: root.license,
    type: 'module',
    sideEffects: false,
    exports: Object.fromEntries(
      Object.entries(root.exports).map(([subpath, source]) => [
        subpath,
        { types: compiledPath(source, 'd.ts'), default: compiledPath(source, 'js') },
      ]),
    ),
    // The version that the tests run on.
    engines: { node: `>=${root.devDependencies.node?.split('.')[0]}` },
    dependencies: Object.fromEntries(own.map((name) => [name, rangeOf(root, name)])),
    peerDependencies: Object.fromEntries(peers.map((name) => [name, rangeOf(root, name)])),
    peerDependenciesMeta: Object.fromEntries(peers.map((name) => [name, { optional: true }])),
  };
}

/** Those that are installed only by who needs them. */
export function clientsAmong(packages: Iterable<string>): string[] {
  return [...packages].filter((name) => !ordinary.includes(name));
}

function checkClients(subpath: string, clients: readonly string[]): void {
  const isPart = subpath.split('/').length === 2;
  const allowed = isPart ? [exceptions[subpath] ?? []].flat() : clients.slice(0, 1);
  const excess = clients.filter((name) => !allowed.includes(name));
  if (excess.length > 0) throw new Error(`${subpath} must not need ${excess.join(', ')}`);
}

/** A range given for peers, or what is compatible with the version that the tests run on. */
function rangeOf({ peerDependencies, dependencies, devDependencies }: RootManifest, name: string): string {
  const installed = dependencies[name] ?? devDependencies[name];
  const range = peerDependencies[name] ?? (installed === undefined ? undefined : `^${installed}`);
  if (range === undefined) throw new Error(`${name} is imported, but package.json does not have it`);
  return range;
}
