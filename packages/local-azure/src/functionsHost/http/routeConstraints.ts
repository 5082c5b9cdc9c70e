import { HostStartError } from '../hostStartError.ts';

export type Constraint = (value: string) => boolean;

const isInteger = (value: string, bits: 32n | 64n): boolean => {
  if (!/^\s*[+-]?\d{1,20}\s*$/.test(value)) return false;
  const number = BigInt(value.trim().replace(/^\+/, ''));
  const limit = 2n ** (bits - 1n);
  return number >= -limit && number < limit;
};
const isNumber: Constraint = (value) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value.trim());

const plain: Record<string, Constraint> = {
  int: (value) => isInteger(value, 32n),
  long: (value) => isInteger(value, 64n),
  bool: (value) => /^(true|false)$/i.test(value),
  decimal: (value) => isNumber(value) && !/e/i.test(value),
  double: isNumber,
  float: isNumber,
  datetime: (value) => /\d/.test(value) && !Number.isNaN(Date.parse(value)),
  guid: (value) => /^\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?$/i.test(value),
  alpha: (value) => /^[a-z]*$/i.test(value),
  required: (value) => value !== '',
};

const withArgument: Record<string, (argument: string) => Constraint> = {
  length: (argument) => {
    const [least = 0, most = least] = argument.split(',').map(Number);
    return (value) => value.length >= least && value.length <= most;
  },
  minlength: (argument) => (value) => value.length >= Number(argument),
  maxlength: (argument) => (value) => value.length <= Number(argument),
  min: (argument) => (value) => isInteger(value, 64n) && BigInt(value) >= BigInt(argument),
  max: (argument) => (value) => isInteger(value, 64n) && BigInt(value) <= BigInt(argument),
  range: (argument) => {
    const [least = '0', most = '0'] = argument.split(',');
    return (value) =>
      isInteger(value, 64n) && BigInt(value) >= BigInt(least) && BigInt(value) <= BigInt(most);
  },
  regex: (argument) => {
    const pattern = new RegExp(argument, 'i');
    return (value) => pattern.test(value);
  },
};

/**
 * Looks up a route constraint of ASP.NET Core by name; `file` and `nonfile` are missing
 * (https://learn.microsoft.com/aspnet/core/fundamentals/routing#route-constraints).
 * @throws HostStartError if it is unknown
 */
export function constraint(kind: string, argument: string | undefined): Constraint {
  const name = kind.toLowerCase();
  const found = argument === undefined ? plain[name] : withArgument[name]?.(argument);
  if (found === undefined) throw new HostStartError(`unknown route constraint ${kind}`);
  return found;
}
