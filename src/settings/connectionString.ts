/** The parts of `Name=value;Name=value`, without empty ones. Names are in lower case. */
export function partsOf(connectionString: string): Map<string, string> {
  const parts = connectionString.split(';').map((part) => {
    const [name = '', ...value] = part.split('=');
    return [name.trim().toLowerCase(), value.join('=').trim()] as const;
  });
  return new Map(parts.filter(([, value]) => value !== ''));
}
