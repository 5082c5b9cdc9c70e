import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { removeFolder } from '../support/removeFolder.ts';

const hooks = z.record(z.string(), z.object({ posix: z.object({ run: z.string() }) })).default({});

/** The parts of azure.yaml that decide in which order `azd up` runs which command. */
export const azdProject = z.object({
  workflows: z.object({ up: z.object({ steps: z.array(z.object({ azd: z.string() })) }) }).optional(),
  hooks,
  services: z.object({ payonce: z.object({ hooks }) }),
});
export type AzdProject = z.infer<typeof azdProject>;

/** Commands that azd itself runs for a Node service before the hook `prepackage` and after it. */
const restore = 'npm install';
const build = 'npm run build';

/**
 * Runs the hooks of `azd up` with a stand-in for npm, in a folder with dependencies (warm) or without (cold). The order is azd's
 * (Azure/azure-dev, cli/azd: cmd/up.go, internal/cmd/up_graph.go and pkg/project/service_manager.go): a workflow runs step by step;
 * without one, azd 1.25.0 and later package beside provisioning, as soon as the hook `prepackage` of the project is done.
 * Returns the commands in the order of their starts, and what failed.
 */
export async function azdUp(project: AzdProject, { warm }: { warm: boolean }) {
  const folder = mkdtempSync(join(tmpdir(), 'azd-up-'));
  try {
    const bin = writeNpm(folder);
    if (warm) mkdirSync(join(folder, 'node_modules/installed'), { recursive: true });
    const failed: string[] = [];
    const run = async (command: string | undefined) => {
      if (command === undefined || failed.length > 0) return;
      const { status, output } = await shell(command, { folder, bin });
      if (status !== 0) failed.push(`${command}: ${output.trim()}`);
    };
    const { hooks: ofProject, services } = project;
    const ofService = services.payonce.hooks;
    const provision = async () => {
      await run(ofProject.preprovision?.posix.run);
      await run(ofProject.postprovision?.posix.run);
    };
    const packageService = async () => {
      // A newer azd leaves this out if the dependencies are there.
      if (!existsSync(join(folder, 'node_modules/installed'))) await run(restore);
      await run(ofService.prepackage?.posix.run);
      await run(build);
    };
    const deploy = () => run(ofProject.postdeploy?.posix.run);
    const steps: Readonly<Record<string, () => Promise<void>>> = {
      'package --all': packageService,
      provision,
      'deploy --all': async () => {
        await packageService();
        await deploy();
      },
    };
    if (project.workflows === undefined) {
      await run(ofProject.prepackage?.posix.run);
      await Promise.all([provision(), packageService()]);
      await deploy();
    } else {
      for (const { azd } of project.workflows.up.steps) {
        const step = steps[azd];
        if (step === undefined) throw new Error(`a step that nothing here knows: ${azd}`);
        await step();
      }
    }
    const log = join(folder, 'called');
    return { called: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [], failed };
  } finally {
    await removeFolder(folder);
  }
}

/**
 * An npm that keeps to what the real one needs: nothing else may touch `node_modules` while it installs, and a script needs what was
 * installed until its end. `npm ci` begins by removing everything.
 */
function writeNpm(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const files = '$(seq -f node_modules/%g 100)';
  const lines = [
    '#!/bin/sh',
    'echo "npm $*" >> called',
    'gone() { echo "$1" >&2; exit 1; }',
    'if [ "$1" = ci ] || [ "$1" = install ]; then',
    '  mkdir installing 2>/dev/null || gone "ENOTEMPTY: another npm installs"',
    '  [ "$1" = ci ] && rm -rf node_modules',
    `  mkdir -p node_modules && for file in ${files}; do echo > "$file"; done`,
    '  mkdir -p node_modules/installed && rmdir installing',
    'else',
    `  for file in ${files}; do cat "$file" > /dev/null || gone "ERR_MODULE_NOT_FOUND: $file"; done`,
    '  [ -d node_modules/installed ] || gone "ERR_MODULE_NOT_FOUND"',
    'fi',
  ];
  const npm = join(bin, 'npm');
  writeFileSync(npm, `${lines.join('\n')}\n`);
  chmodSync(npm, 0o755);
  return bin;
}

function shell(command: string, { folder, bin }: { folder: string; bin: string }) {
  return new Promise<{ status: number | null; output: string }>((resolve, reject) => {
    const child = spawn('sh', ['-c', command], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: [bin, process.env.PATH ?? ''].join(delimiter) },
    });
    let output = '';
    child.stdout.on('data', (text) => (output += String(text)));
    child.stderr.on('data', (text) => (output += String(text)));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output }));
  });
}
