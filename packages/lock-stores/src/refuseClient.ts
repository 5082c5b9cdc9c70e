/**
 * @throws TypeError for a client or a pool. It would pass for options without an address, and the locks would be on
 * localhost.
 */
export function refuseClient(address: string | object): void {
  const isClient = ['query', 'sendCommand'].some(
    (name) => typeof Reflect.get(Object(address), name) === 'function',
  );
  if (!isClient) return;
  throw new TypeError(
    'A lock store makes its own connections: give it an address or options, not a client or a pool',
  );
}
