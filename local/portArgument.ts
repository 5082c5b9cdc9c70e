/** Parses a port from the command line; 0 means any. Exits with code 2 if it is invalid. */
export function portArgument(name: string, value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535) {
    console.error(`${name}: expected a port from 0 to 65535, got "${value}"`);
    process.exit(2);
  }
  return port;
}
