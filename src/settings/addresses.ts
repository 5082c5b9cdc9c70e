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

/** The parts of `Name=value;Name=value`, without empty ones. Names are in lower case. */
export function partsOf(connectionString: string): Map<string, string> {
  const parts = connectionString.split(';').map((part) => {
    const [name = '', ...value] = part.split('=');
    return [name.trim().toLowerCase(), value.join('=').trim()] as const;
  });
  return new Map(parts.filter(([, value]) => value !== ''));
}
