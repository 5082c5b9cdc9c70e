import { createHash, createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { HostStartError } from './hostStartError.ts';
import type { HostKeys } from './http/keys.ts';
import type { Settings } from './settings.ts';

/** Fills `process.env` with the settings and with what the platform would set; returns the instance id. */
export function prepareEnvironment(settings: Settings): string {
  const certificatesWere = process.env.NODE_EXTRA_CA_CERTS !== undefined;
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) process.env[name] ??= value;
  }
  // Node reads it only when a process starts: for the worker that is early enough.
  if (settings.NODE_EXTRA_CA_CERTS !== undefined && !certificatesWere)
    setDefaultCACertificates([
      ...getCACertificates('default'),
      readFileSync(settings.NODE_EXTRA_CA_CERTS, 'utf8'),
    ]);
  process.env.FUNCTIONS_WORKER_RUNTIME ??= 'node';
  process.env.AZURE_FUNCTIONS_ENVIRONMENT ??= 'Development';
  const instanceId = process.env.INSTANCE_ID || process.env.WEBSITE_INSTANCE_ID || randomUUID().slice(0, 8);
  process.env.WEBSITE_INSTANCE_ID = instanceId;
  return instanceId;
}

/** @throws HostStartError if there is no master key */
export function readKeys(settings: Settings): HostKeys {
  const master = settings.FUNCTIONS_MASTER_KEY;
  if (!master) throw new HostStartError('--enable-auth needs the setting FUNCTIONS_MASTER_KEY');
  // The same on all hosts of an app, which share their instances, and so the links to them.
  const durable = createHmac('sha256', master).update('durabletask_extension').digest('base64url');
  return { master, host: settings.FUNCTIONS_HOST_KEY || undefined, durable };
}

/** Same for all hosts of one app on one storage account: their timers share leases and statuses under it. */
export function readHostId(appDir: string, name: string | undefined, settings: Settings): string {
  const given = settings.AzureFunctionsWebHost__hostid;
  if (given) return given;
  const readable = (name ?? 'app')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 23);
  return `${readable}-${createHash('sha256').update(appDir).digest('hex').slice(0, 8)}`;
}
