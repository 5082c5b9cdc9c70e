import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { HostStartError, Unsupported } from './hostStartError.ts';

export type Settings = Record<string, string | undefined>;

/** Parses `KEY=value` lines. Skips blank lines and `#` comments; quotes and escapes mean nothing. */
export function parseEnvFile(text: string): Settings {
  const settings: Settings = {};
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf('=');
    if (at > 0 && !line.trimStart().startsWith('#'))
      settings[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return settings;
}

const localSettings = z.object({
  IsEncrypted: z.literal(false, { error: 'encrypted settings cannot be read' }).default(false),
  Values: z.record(z.string(), z.string()).default({}),
});

/**
 * The `Values` of a local.settings.json, the file in which the Functions tools keep an app's settings.
 *
 * @throws HostStartError if the file cannot be read
 */
export function readLocalSettings(path: string): Settings {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new HostStartError(`${path} is not JSON: ${String(error)}`, { cause: error });
  }
  const { data, error } = localSettings.safeParse(json);
  if (data === undefined) throw new HostStartError(`${path}: ${z.prettifyError(error)}`);
  return data.Values;
}

/**
 * Replaces each `%NAME%` with that setting.
 * @throws HostStartError if it is not set
 */
export function resolveNames(text: string, settings: Settings): string {
  return text.replaceAll(/%([^%]+)%/g, (_, name: string) => {
    const value = settings[name];
    if (value === undefined || value === '')
      throw new HostStartError(`the setting ${name} (%${name}%) is not set`);
    return value;
  });
}

/**
 * Resolves the `connection` of a binding to a connection string. Like the real host, looks for the setting
 * `AzureWebJobs{name}` first, then for `{name}`.
 * @throws HostStartError if neither is set, or if the connection is identity-based
 */
export function connectionString(name: string, settings: Settings): string {
  const value = settings[`AzureWebJobs${name}`] || settings[name];
  if (value) return value;
  const identity = Object.keys(settings).some((key) =>
    key.toLowerCase().startsWith(`${name.toLowerCase()}__`),
  );
  if (identity)
    throw new Unsupported(
      `the connection ${name} is identity-based (${name}__…); this host takes connection strings only`,
    );
  throw new HostStartError(`the connection setting ${name} is not set`);
}
