/**
 * Parses a whole number from the command line. Exits with code 2 if it is invalid or less than `min`. `of`
 * names what is counted, for the message.
 */
export function wholeNumberArgument(
  name: string,
  value: string,
  { min, of }: { min: number; of: string },
): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < min) {
    console.error(`${name}: expected a whole number of ${of}, ${min} or more, got "${value}"`);
    process.exit(2);
  }
  return number;
}
