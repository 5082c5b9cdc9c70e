import { execFileSync } from 'node:child_process';

/** Runs npm in a folder; returns what it prints. Under npm itself it is that npm, otherwise the one on PATH. */
export function runNpm(args: readonly string[], folder: string): string {
  const cli = process.env.npm_execpath;
  const [command, before] = cli?.endsWith('.js') ? [process.execPath, [cli]] : ['npm', []];
  return execFileSync(command, [...before, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    // On Windows npm is a script, which only a shell runs.
    shell: command === 'npm' && process.platform === 'win32',
  });
}
