/** `npm start -- --demo`: the demo with its page, until Ctrl-C. */
import { join } from 'node:path';
import { buildDemoPage, ensureDashboard } from '../../scripts/buildDashboard.ts';
import { startDemo } from './demo.ts';
import { serveDemo } from './serve.ts';

/** Resolves once everybody may look. Disposal ends all of it. */
export async function openDemo(folder: string): Promise<AsyncDisposable & { address: string }> {
  await using starting = new AsyncDisposableStack();
  await ensureDashboard();
  const page = await buildDemoPage();
  const demo = starting.use(await startDemo(join(folder, 'demo')));
  const { address } = starting.use(await serveDemo(demo, page));
  const running = starting.move();
  return { address, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Runs until somebody ends it. */
export async function runDemo(folder: string): Promise<never> {
  console.log('Starting a local cloud and three hosts …');
  const demo = await openDemo(folder);
  console.log(`Break it yourself: ${demo.address}   Ctrl-C ends everything.`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  await demo[Symbol.asyncDispose]();
  process.exit(0);
}
