import { z } from 'zod';

/** A deployed app, as Azure Resource Manager and its own HTTP API show it. */
export interface DeployedApp {
  /** Makes the platform read the app's triggers again. */
  syncTriggers(): Promise<void>;
  health(): Promise<{ status: number; body: string }>;
  /** The caller of this script, as the app sees it. */
  me(): Promise<{ actor: string; roles: readonly string[] }>;
  /** The fence of each lock of a job, by key. Undefined if the store of locks cannot list. */
  fences(): Promise<Record<string, number> | undefined>;
}

export interface DeployedAppOptions {
  /** `/subscriptions/…/resourceGroups/…/providers/Microsoft.Web/sites/…` */
  resourceId: string;
  /** `https://…/api` */
  ops: string;
  /** `https://management.azure.com`, or a stand-in. */
  arm: string;
  /** Tokens for Azure Resource Manager. */
  armToken: () => Promise<string>;
  /** Tokens for ops. Undefined: ops requires no sign-in. */
  opsToken?: () => Promise<string>;
}

/** The platform refused a call of this script, or the app did. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';
  readonly status: number;

  constructor(method: string, url: string, status: number, body: string) {
    super(`${method} ${url}: ${status} ${body.slice(0, 500)}`);
    this.status = status;
  }
}

const apiVersion = '2024-11-01';
const timeoutMs = 60_000;
const keys = z.object({ functionKeys: z.record(z.string(), z.string()) });
const caller = z.object({ actor: z.string(), roles: z.array(z.string()) });
const locks = z.object({ locks: z.array(z.object({ key: z.string(), fence: z.number() })) });

export function deployedApp({ resourceId, ops, arm, armToken, opsToken }: DeployedAppOptions): DeployedApp {
  let functionKey: Promise<string> | undefined;

  async function manage(action: string): Promise<string> {
    const url = `${arm}${resourceId}/${action}?api-version=${apiVersion}`;
    return textOf('POST', url, { authorization: `Bearer ${await armToken()}` });
  }

  async function readKey(): Promise<string> {
    const { functionKeys } = keys.parse(JSON.parse(await manage('host/default/listKeys')));
    return functionKeys.default ?? '';
  }

  async function call(path: string): Promise<Response> {
    functionKey ??= readKey();
    const sign = opsToken === undefined ? {} : { authorization: `Bearer ${await opsToken()}` };
    return fetch(`${ops}/${path}`, {
      headers: { ...sign, 'x-functions-key': await functionKey },
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  return {
    async syncTriggers() {
      await manage('syncfunctiontriggers');
    },
    async health() {
      const response = await call('ops/health');
      return { status: response.status, body: await response.text() };
    },
    async me() {
      const response = await call('ops/me');
      const body = await response.text();
      if (!response.ok) throw new CallRefused('GET', `${ops}/ops/me`, response.status, body);
      return caller.parse(JSON.parse(body));
    },
    async fences() {
      const response = await call('ops/locks');
      if (response.status === 501) return undefined;
      const body = await response.text();
      if (!response.ok) throw new CallRefused('GET', `${ops}/ops/locks`, response.status, body);
      return Object.fromEntries(locks.parse(JSON.parse(body)).locks.map(({ key, fence }) => [key, fence]));
    },
  };
}

async function textOf(method: string, url: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(timeoutMs) });
  const body = await response.text();
  if (!response.ok) throw new CallRefused(method, url, response.status, body);
  return body;
}
