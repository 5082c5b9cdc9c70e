/**
 * @throws TypeError for an object that has none of the options of an address. It may be a client that this store does not know, and
 * would pass for an address on localhost.
 */
export function refuseUnknown(address: object, options: readonly string[]): void {
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(address));
  if (isPlain && options.some((name) => name in address)) return;
  throw new TypeError(
    `A lock store takes an address, options such as ${options.slice(0, 3).join(', ')}, or a client or pool that it knows`,
  );
}
