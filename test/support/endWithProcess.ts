/**
 * Calls `end` when this process exits, for children that would outlive it; until it is disposed of. A signal ends a process
 * without that, so programs that start children turn signals into an exit.
 */
export function endWithProcess(end: () => void): Disposable {
  const listener = () => end();
  process.once('exit', listener);
  return { [Symbol.dispose]: () => void process.off('exit', listener) };
}

/** For programs: Ctrl-C and SIGTERM become an exit, at which children end. */
export function exitOnSignals(): void {
  process.setMaxListeners(0);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
}
