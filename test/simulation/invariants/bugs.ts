/** Errors that no fault explains: those of JavaScript itself, of a schema that does not fit, and those without a name of their own. */

const bugs: ReadonlySet<string> = new Set([
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'ZodError',
  '$ZodError',
]);

/** Texts that JavaScript gives such errors, for those of which only the text is left. */
const textOfBug =
  /Cannot (read|set) propert|is not (a function|iterable|defined|a constructor)|Invalid time value/;

/** The bug behind an error that a function has thrown, in words; undefined if a fault may be behind it. Pure. */
export function bugIn(error: unknown): string | undefined {
  if (!(error instanceof Error)) return `something that is no error: ${String(error)}`;
  return error.name === 'Error' ? `an error without a name: ${error.message}` : bugBehind(error);
}

function bugBehind(error: Error): string | undefined {
  if (bugs.has(error.name) || textOfBug.test(error.message)) return `${error.name}: ${error.message}`;
  const parts = error instanceof AggregateError ? error.errors : [];
  for (const part of [error.cause, ...parts]) {
    const bug = part instanceof Error ? bugBehind(part) : undefined;
    if (bug !== undefined) return bug;
  }
  return undefined;
}
