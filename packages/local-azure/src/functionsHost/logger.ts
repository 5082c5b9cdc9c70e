import type { LogLevel } from './coreTypes.ts';

const order: readonly LogLevel[] = ['trace', 'debug', 'information', 'warning', 'error', 'critical', 'none'];
const shown: Record<LogLevel, string> = {
  trace: 'trace',
  debug: 'debug',
  information: 'info ',
  warning: 'warn ',
  error: 'error',
  critical: 'fatal',
  none: '',
};

export interface LogSource {
  functionName: string;
  invocationId?: string;
}

/** Writes one line per entry: time, level, function and invocation id (if any), message. */
export interface Logger {
  /** True if an entry of this category would be written. Ask first to avoid building the message. */
  writes(level: LogLevel, category: string): boolean;
  log(level: LogLevel, category: string, message: string, source?: LogSource): void;
}

/**
 * @param logLevel host.json `logging.logLevel`: minimum level by category (`Function.pay.User`). The longest
 *   matching prefix wins; `default` applies if none matches
 */
export function createLogger(logLevel: Record<string, string>, write: (line: string) => void): Logger {
  const rules = Object.entries(logLevel)
    .map(([prefix, level]) => ({ prefix: prefix.toLowerCase(), least: rank(level) }))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  const fallback = rules.find(({ prefix }) => prefix === 'default')?.least ?? rank('information');
  const leastOf = new Map<string, number>();

  function least(category: string): number {
    let found = leastOf.get(category);
    if (found === undefined) {
      const name = category.toLowerCase();
      found = rules.find(({ prefix }) => name === prefix || name.startsWith(`${prefix}.`))?.least ?? fallback;
      leastOf.set(category, found);
    }
    return found;
  }
  const writes = (level: LogLevel, category: string) => level !== 'none' && rank(level) >= least(category);

  return {
    writes,
    log(level, category, message, source) {
      if (!writes(level, category)) return;
      const from =
        source === undefined ? '' : `${source.functionName} ${source.invocationId ?? ''}`.trimEnd();
      write(`${new Date().toISOString()} ${shown[level]} ${from === '' ? '' : `${from} `}${message}`);
    },
  };
}

/** An unknown level counts as information. */
function rank(level: string): number {
  const found = order.indexOf(level.toLowerCase() as LogLevel);
  return found === -1 ? order.indexOf('information') : found;
}
