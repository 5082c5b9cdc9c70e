// npm run build: builds the dashboard from ui/ into dist/ui, from which the app serves it.
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type InlineConfig } from 'vite';

const root = fileURLToPath(new URL('../', import.meta.url));
const builtFolder = join(root, 'dist', 'ui');
/** Beside dist/, which is deployed. */
const demoFolder = join(root, '.local', 'demo-page');

/**
 * Builds the dashboard into a folder. What is there already is replaced only once the new one is complete, and `replaces` says
 * that it still is to be. Returns the files that are in it.
 */
export async function buildDashboard(
  folder: string = builtFolder,
  page: InlineConfig = {},
  replaces = () => true,
): Promise<string[]> {
  mkdirSync(dirname(folder), { recursive: true });
  const beside = mkdtempSync(`${folder}-`);
  try {
    const fresh = join(beside, 'new');
    const built = await build({
      configFile: join(root, 'ui', 'vite.config.ts'),
      ...page,
      build: { outDir: fresh, emptyOutDir: true },
    });
    // Another process may do the same at this moment: whichever comes last, the folder holds a whole dashboard.
    if (replaces()) {
      unless(['ENOENT'], () => renameSync(folder, join(beside, 'old')));
      unless(['ENOTEMPTY', 'EEXIST', 'EPERM'], () => renameSync(fresh, folder));
    }
    const outputs = 'on' in built ? [] : [built].flat();
    return outputs
      .flatMap(({ output }) => output)
      .flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

/** Does it; an error with one of these codes is no error. */
function unless(codes: readonly string[], act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && codes.includes(String(error.code)))) throw error;
  }
}

/** Builds the dashboard unless the one in dist/ui is newer than everything that it is made of. */
export async function ensureDashboard(): Promise<void> {
  // Of several processes the first to finish replaces it: a host may be reading the files when the next one has finished.
  if (isOutdated()) await buildDashboard(builtFolder, {}, isOutdated);
}

function isOutdated(): boolean {
  const built = statSync(join(builtFolder, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = globSync(['ui/**/*', 'src/**/*.ts', 'package-lock.json'], { cwd: root });
  const changed = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs));
  return changed >= built;
}

/** Builds the page of the demo (local/demo). Returns its folder. */
export async function buildDemoPage(): Promise<string> {
  await buildDashboard(demoFolder, {
    root: join(root, 'ui', 'demo'),
    publicDir: join(root, 'ui', 'public'),
    base: '/',
  });
  return demoFolder;
}

if (import.meta.main) await buildDashboard();
