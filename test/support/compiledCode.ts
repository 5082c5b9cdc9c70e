import { rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Node keeps compiled code here, for the test files and the programs that they start: importing Azure's packages then takes half
 * the time.
 */
export const compiledCode = fileURLToPath(
  new URL('../../node_modules/.cache/payonce-tests', import.meta.url),
);

const dayMs = 86_400_000;

/** Begins again each day: what ran in temporary folders is never needed again. */
export default function setup(): void {
  const since = statSync(compiledCode, { throwIfNoEntry: false })?.birthtimeMs ?? Date.now();
  if (Date.now() - since > dayMs) rmSync(compiledCode, { recursive: true, force: true });
}
