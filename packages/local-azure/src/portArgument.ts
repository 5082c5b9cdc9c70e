import { wholeNumberArgument } from './wholeNumberArgument.ts';

/** Parses a port from the command line; 0 means any. Exits with code 2 if it is invalid. */
export const portArgument = (name: string, value: string): number =>
  wholeNumberArgument(name, value, { min: 0, max: 65_535 });
