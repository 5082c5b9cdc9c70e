/** JSON text with object keys sorted, so that equal values give equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${fields.join(',')}}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function equal(left: unknown, right: unknown): boolean {
  if (typeof left !== 'object' || left === null) return left === right;
  return canonical(left) === canonical(right);
}

/** Partial match: if both are objects, `whole` must have every property of `part` with an equal value. */
export function holds(whole: unknown, part: unknown): boolean {
  if (!isObject(part) || !isObject(whole)) return equal(whole, part);
  return Object.entries(part).every(([key, value]) => Object.hasOwn(whole, key) && equal(whole[key], value));
}
