import { wholeNumberArgument } from '../../packages/local-azure/src/wholeNumberArgument.ts';

/** Parses whole numbers from 1, separated by commas. Exits with code 2 if one is invalid. */
export function listArgument(name: string, value: string, of: string): number[] {
  return value.split(',').map((part) => wholeNumberArgument(name, part, { min: 1, of }));
}
