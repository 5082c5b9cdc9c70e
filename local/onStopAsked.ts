/**
 * Calls `stop` when this program is to end: on Ctrl-C, on SIGTERM, and when the channel to the program that started it
 * closes, if it has one. On Windows a process cannot answer SIGTERM
 * (https://nodejs.org/api/process.html#signal-events): there the channel is the only way to end it in good order.
 */
export function onStopAsked(stop: () => void): void {
  // Ctrl-C in a terminal and a supervisor may both ask: `stop` is called each time.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.once('disconnect', stop);
}
