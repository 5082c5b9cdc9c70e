/**
 * Logs what a tick of a timer has done; at error level if it could do nothing, because settings are missing or wrong. What a
 * process prints while it starts, the host logs as information only.
 */
export function logTick(context: Pick<Console, 'log' | 'error'>, result: object | null): void {
  const text = JSON.stringify(result);
  if (result !== null && 'waitingFor' in result) context.error(text);
  else context.log(text);
}
