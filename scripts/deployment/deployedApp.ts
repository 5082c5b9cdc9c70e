import { z } from 'zod';

/** A deployed app, as Azure Resource Manager and its own HTTP API show it. */
export interface DeployedApp {
  /** Makes the platform read the app's triggers again. */
  syncTriggers(): Promise<void>;
  /** Reads the key that the calls of ops need. */
  readKey(): Promise<void>;
  /** True if the vault has a secret of this name. */
  hasSecret(name: string): Promise<boolean>;
  /** Makes the platform read the vault again, and the app start with what it finds. */
  refreshSecrets(): Promise<void>;
  health(): Promise<{ status: number; body: string }>;
  /** The caller of this script, as the app sees it. */
  me(): Promise<{ actor: string; roles: readonly string[] }>;
  /** The fence of each lock of a job, by key. Undefined if the store of locks cannot list. */
  fences(): Promise<Record<string, number> | undefined>;
}

export interface DeployedAppOptions {
  /** `/subscriptions/…/resourceGroups/…/providers/Microsoft.Web/sites/…` */
  resourceId: string;
  /** `/subscriptions/…/resourceGroups/…/providers/Microsoft.KeyVault/vaults/…` */
  vaultId: string;
  /** `https://…/api` */
  ops: string;
  /** `https://management.azure.com`, or a stand-in. */
  arm: string;
  /** Tokens for Azure Resource Manager. */
  armToken: () => Promise<string>;
  /** Tokens for ops. Undefined: ops requires no sign-in. */
  opsToken?: () => Promise<string>;
}

const apiVersion = '2024-11-01';
const timeoutMs = 60_000;
const keys = z.object({ functionKeys: z.record(z.string(), z.string()) });
const caller = z.object({ actor: z.string(), roles: z.array(z.string()) });
const locks = z.object({ locks: z.array(z.object({ key: z.string(), fence: z.number() })) });

export function deployedApp(options: DeployedAppOptions): DeployedApp {
  const { resourceId, vaultId, ops, arm, armToken, opsToken } = options;
  let functionKey: string | undefined;

  async function manage(method: string, path: string, version = apiVersion): Promise<Response> {
    const url = `${arm}${path}?api-version=${version}`;
    const headers = { authorization: `Bearer ${await armToken()}` };
    return fetch(url, { method, headers, signal: AbortSignal.timeout(timeoutMs) });
  }

  async function post(action: string, version?: string): Promise<string> {
    return textOf('POST', action, await manage('POST', `${resourceId}/${action}`, version));
  }

  async function readKey(): Promise<string> {
    const { functionKeys } = keys.parse(JSON.parse(await post('host/default/listKeys')));
    const { default: key } = functionKeys;
    if (key === undefined) throw new Error('host/default/listKeys: there is no function key named default');
    return key;
  }

  async function call(path: string): Promise<Response> {
    functionKey ??= await readKey();
    const sign = opsToken === undefined ? {} : { authorization: `Bearer ${await opsToken()}` };
    return fetch(`${ops}/${path}`, {
      headers: { ...sign, 'x-functions-key': functionKey },
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  return {
    async syncTriggers() {
      await post('syncfunctiontriggers');
    },
    async readKey() {
      functionKey = await readKey();
    },
    async hasSecret(name) {
      const response = await manage('GET', `${vaultId}/secrets/${name}`);
      if (response.status === 404) return false;
      await textOf('GET', `secrets/${name}`, response);
      return true;
    },
    async refreshSecrets() {
      await post('config/configreferences/appsettings/refresh', '2022-03-01');
      await post('restart');
    },
    async health() {
      const response = await call('ops/health');
      return { status: response.status, body: await response.text() };
    },
    async me() {
      return caller.parse(JSON.parse(await textOf('GET', 'ops/me', await call('ops/me'))));
    },
    async fences() {
      const response = await call('ops/locks');
      if (response.status === 501) return undefined;
      const read = locks.parse(JSON.parse(await textOf('GET', 'ops/locks', response)));
      return Object.fromEntries(read.locks.map(({ key, fence }) => [key, fence]));
    },
  };
}

async function textOf(method: string, what: string, response: Response): Promise<string> {
  const body = await response.text();
  if (!response.ok) throw new Error(`${method} ${what}: ${response.status} ${body.slice(0, 500)}`);
  return body;
}
