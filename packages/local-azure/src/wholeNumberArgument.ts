/**
 * Parses a whole number from the command line. Exits with code 2 if it is invalid or out of range. `of` names
 * what is counted, for the message.
 */
export function wholeNumberArgument(
  name: string,
  value: string,
  { min, max, of }: { min: number; max?: number; of?: string },
): number {
  const number = Number(value);
  const largest = max ?? Number.MAX_SAFE_INTEGER;
  if (!/^\d+$/.test(value) || number < min || number > largest) {
    const what = of === undefined ? 'a whole number' : `a whole number of ${of}`;
    const range = max === undefined ? `, ${min} or more` : ` from ${min} to ${max}`;
    console.error(`${name}: expected ${what}${range}, got "${value}"`);
    process.exit(2);
  }
  return number;
}
