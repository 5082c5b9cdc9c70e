export function isHttps(address: string): boolean {
  return URL.parse(address)?.protocol === 'https:';
}

/** Plain http that never leaves this machine. */
export function isLoopbackHttp(address: string): boolean {
  return URL.parse(address)?.protocol === 'http:' && isLoopback(address);
}

export function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname ?? '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
