/**
 * The message of a storage queue. Every release writes JSON as base64; anything else must end where people see it, too. Told to
 * decode base64 itself, the Functions host would skip the rest in the poison queue for ever (`MessageDecodingFailed`): so
 * host.json says `none`, and this decodes. Other texts, and JSON that was parsed already, are returned as they are. Pure.
 */
export function queuedMessage(received: unknown): unknown {
  if (typeof received !== 'string') return received;
  const text = decoded(received);
  return text === undefined ? received : jsonOrText(text);
}

/** The text that a base64 text stands for; undefined if it is none. */
function decoded(text: string): string | undefined {
  if (!base64.test(text) || text.length % 4 !== 0) return undefined;
  try {
    return utf8.decode(Buffer.from(text, 'base64'));
  } catch {
    return undefined;
  }
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value of a JSON text; any other text as it is. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
