import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { z } from 'zod';

/** Where a browser usually is, on the systems for which npm has none. */
const installed = [
  process.env.CHROME_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const hasPackaged = process.platform === 'linux' && process.arch === 'x64';

/**
 * True if there is a browser, or has to be. If there is none, the tests that need one are skipped by name;
 * where CI is true there must be one, because a test that is skipped there is one that nobody runs.
 */
export function hasBrowser(): boolean {
  return hasPackaged || process.env.CI === 'true' || installed.some((path) => existsSync(path));
}

/** Chromium: the one of the npm package on Linux x64, elsewhere an installed one. */
export async function openBrowser(): Promise<Browser> {
  // The package brings arguments for a platform of its own: one process dies at the second context.
  return chromium.launch({ executablePath: await browserPath(), args: ['--no-sandbox', '--disable-gpu'] });
}

async function browserPath(): Promise<string> {
  const found = installed.find((path) => existsSync(path));
  if (!hasPackaged) {
    if (found === undefined) throw new Error('there is no browser: install Chrome or set CHROME_PATH');
    return found;
  }
  // It unpacks into $TMPDIR and takes whatever Chromium is there already: each version has a folder of its own.
  const manifest = new URL('../../../node_modules/@sparticuz/chromium/package.json', import.meta.url);
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, 'utf8')));
  const folder = join(tmpdir(), `payonce-chromium-${version}`);
  mkdirSync(folder, { recursive: true });
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    return await packaged.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}
