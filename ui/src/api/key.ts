const storedAs = 'payonce-key';
const channel = new BroadcastChannel('payonce-key');

/** The function key of this tab, which ends with the tab. Never part of a URL. */
export function readKey(): string | undefined {
  return sessionStorage.getItem(storedAs) ?? undefined;
}

export function keepKey(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(storedAs);
  else sessionStorage.setItem(storedAs, key);
}

/** A new tab asks the others for their key, and takes the first that comes. Resolves after `waitMs` at most. */
export async function askOtherTabs(waitMs = 150): Promise<void> {
  if (readKey() !== undefined) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, waitMs);
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      const given = keyIn(data);
      if (given === undefined || readKey() !== undefined) return;
      keepKey(given);
      clearTimeout(timer);
      resolve();
    });
    channel.postMessage('who has the key?');
  });
}

const namedAs = 'payonce-name';

/** The name that the user has given, in this browser until the key is forgotten: it goes into the audit trail. */
export function readName(): string {
  return localStorage.getItem(namedAs) ?? '';
}

export function keepName(name: string): void {
  if (name === '') localStorage.removeItem(namedAs);
  else localStorage.setItem(namedAs, name);
}

const forgotten = 'the key is forgotten';

/** Forgets the key in every tab: one that kept it would give it back to this one. */
export function forgetKey(): void {
  keepName('');
  keepKey(undefined);
  channel.postMessage(forgotten);
}

/** Answers tabs that ask, and calls `onForgotten` once another one has forgotten the key. */
export function shareKey(onForgotten: () => void): void {
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (data === forgotten) {
      keepKey(undefined);
      onForgotten();
      return;
    }
    const key = readKey();
    if (data === 'who has the key?' && key !== undefined) channel.postMessage({ key });
  });
}

function keyIn(data: unknown): string | undefined {
  return typeof data === 'object' && data !== null && 'key' in data && typeof data.key === 'string'
    ? data.key
    : undefined;
}
