import { AzureCliCredential, AzureDeveloperCliCredential, ChainedTokenCredential } from '@azure/identity';

const timeoutMs = 60_000;

/** Azure Resource Manager and tokens, as azd or az is signed in. `standIn`: an address for tests, which needs no tokens. */
export function resourceManager(standIn?: string) {
  const address = standIn ?? 'https://management.azure.com';
  const credential = new ChainedTokenCredential(new AzureDeveloperCliCredential(), new AzureCliCredential());
  const tokenFor = (scope: string) => async () =>
    standIn === undefined ? (await credential.getToken(scope)).token : 'stand-in';
  const token = tokenFor('https://management.azure.com/.default');
  return {
    address,
    token,
    tokenFor,
    /** The body of a GET. Undefined if there is no such thing. */
    read: async (path: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${await token()}` };
      const response = await fetch(address + path, { headers, signal: AbortSignal.timeout(timeoutMs) });
      if (response.status === 404) return undefined;
      const body = await response.text();
      if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${body.slice(0, 500)}`);
      return JSON.parse(body);
    },
  };
}
