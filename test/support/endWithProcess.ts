/**
 * Calls `end` when this process exits, until disposed. For children that would otherwise outlive it. A signal
 * kills a process without running exit handlers, so programs that start children turn signals into an exit.
 */
export function endWithProcess(end: () => void): Disposable {
  const listener = () => end();
  process.once('exit', listener);
  return { [Symbol.dispose]: () => void process.off('exit', listener) };
}

/** For programs: turns Ctrl-C and SIGTERM into an exit, which ends the children. */
export function exitOnSignals(): void {
  process.setMaxListeners(0);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
}
