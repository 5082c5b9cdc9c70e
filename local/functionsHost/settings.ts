import { HostStartError } from './hostStartError.ts';

export type Settings = Record<string, string | undefined>;

/** Lines `KEY=value`; blank lines and lines that begin with `#` do not count. A value is taken as it stands. */
export function parseEnvFile(text: string): Settings {
  const settings: Settings = {};
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf('=');
    if (at > 0 && !line.trimStart().startsWith('#'))
      settings[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return settings;
}

/** Replaces each `%NAME%` by that setting. */
export function resolveNames(text: string, settings: Settings): string {
  return text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = settings[name];
    if (value === undefined || value === '')
      throw new HostStartError(`the setting ${name} (%${name}%) is not set`);
    return value;
  });
}

/**
 * The connection string behind the `connection` of a binding. The real host looks for `AzureWebJobs{name}` first,
 * then for the name as it is.
 */
export function connectionString(name: string, settings: Settings): string {
  const value = settings[`AzureWebJobs${name}`] || settings[name];
  if (value) return value;
  const identity = Object.keys(settings).some((key) =>
    key.toLowerCase().startsWith(`${name.toLowerCase()}__`),
  );
  throw new HostStartError(
    identity
      ? `the connection ${name} is identity-based (${name}__…); this host takes connection strings only`
      : `the connection setting ${name} is not set`,
  );
}
