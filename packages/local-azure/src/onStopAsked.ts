/**
 * Calls `stop` on Ctrl-C, on SIGTERM, and when the channel to the parent process closes, if there is one. On
 * Windows a process cannot handle SIGTERM (https://nodejs.org/api/process.html#signal-events): there the
 * channel is the only way to end it cleanly. SIGTERM comes from a machine (`terminated`), the others from a person.
 */
export function onStopAsked(stop: (how: 'terminated' | 'asked') => void): void {
  // Ctrl-C in a terminal and a supervisor may both ask: `stop` runs each time.
  process.on('SIGINT', () => stop('asked'));
  process.on('SIGTERM', () => stop('terminated'));
  process.once('disconnect', () => stop('asked'));
}
