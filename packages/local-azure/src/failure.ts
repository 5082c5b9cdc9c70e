import { inspect } from 'node:util';

/** A port that an option names is taken. The message names both. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

/** Waits for what starts on a port. @throws {PortTaken} naming the option that chooses the port */
export async function orTaken<T>(option: string, port: number, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (cause) {
    const taken = /EADDRINUSE.*?:(\d+)/s.exec(cause instanceof Error ? cause.message : '');
    if (taken === null) throw cause;
    throw new PortTaken(`port ${taken[1] ?? port} is taken: choose another with ${option}`, { cause });
  }
}

/** Errors whose message tells a person what to change. */
const expected = new Set(['PortTaken', 'ConfigError', 'HostStartError', 'Unsupported']);

/** Ends a program that cannot start: with code 2 for a wrong command line, else with 1. */
export function exitFor(error: unknown): never {
  const {
    name = '',
    code = '',
    message = '',
  } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const usage = code.startsWith('ERR_PARSE_ARGS');
  console.error(usage || expected.has(name) ? message : inspect(error));
  process.exit(usage ? 2 : 1);
}
