/**
 * Checks of what a server answers. Each returns the value with its type, or throws a TypeError that names the place and what was
 * expected there.
 */
export type Shape<T> = (value: unknown, at?: string) => T;

function shape<T>(expected: string, fits: (value: unknown) => boolean): Shape<T> {
  return (value, at = 'the answer') => {
    if (fits(value)) return value as T;
    throw new TypeError(`${at}: expected ${expected}, not ${value === null ? 'null' : typeof value}`);
  };
}

export const aText = shape<string>('a text', (value) => typeof value === 'string');
export const aNumber = shape<number>(
  'a number',
  (value) => typeof value === 'number' && !Number.isNaN(value),
);
export const aBoolean = shape<boolean>('true or false', (value) => typeof value === 'boolean');

/** A number of 64 bits, which drivers and JSON pass on as a text. */
export const longNumber = shape<string>(
  'a whole number as a text',
  (value) => typeof value === 'string' && /^-?\d+$/.test(value),
);

export function anyOf<T extends string>(...values: readonly T[]): Shape<T> {
  return shape<T>(values.join(' or '), (value) => values.some((one) => one === value));
}

/** Null stands for a value that is missing, as in SQL. */
export function orNull<T>(known: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null || value === undefined ? null : known(value, at));
}

/** `fallback` stands for a value that is left out. */
export function orElse<T, Fallback>(known: Shape<T>, fallback: Fallback): Shape<T | Fallback> {
  return (value, at) => (value === undefined ? fallback : known(value, at));
}

export function listOf<T>(known: Shape<T>): Shape<T[]> {
  const list = shape<unknown[]>('a list', Array.isArray);
  return (value, at = 'the answer') => list(value, at).map((one, n) => known(one, `${at}[${n}]`));
}

/** The named fields of an object; others, and those that are undefined, are left out. */
export function fieldsOf<T extends object>(known: { readonly [K in keyof T]: Shape<T[K]> }): Shape<T> {
  const object = shape<object>('an object', (value) => typeof value === 'object' && value !== null);
  return (value, at = 'the answer') => {
    const found = object(value, at);
    const entries = Object.entries<Shape<unknown>>(known)
      .map(([name, read]) => [name, read(Reflect.get(found, name), `${at}.${name}`)])
      .filter(([, field]) => field !== undefined);
    return Object.fromEntries(entries) as T;
  };
}
