/**
 * Calls `stop` on Ctrl-C, on SIGTERM, and when the channel to the parent process closes, if there is one. On
 * Windows a process cannot handle SIGTERM (https://nodejs.org/api/process.html#signal-events): there the
 * channel is the only way to end it cleanly.
 */
export function onStopAsked(stop: () => void): void {
  // Ctrl-C in a terminal and a supervisor may both ask: `stop` runs each time.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.once('disconnect', stop);
}
