/**
 * The message of a storage queue, as the trigger hands it over. Every release writes JSON as base64. Anything else may get
 * into a queue too, by the portal or a script, and must end where people see it. Told to decode base64 itself (host.json),
 * the Functions host never hands over what is not base64: it moves the message to the poison queue, and there it skips it
 * every ten minutes, for ever (`MessageDecodingFailed` in its storage extension). So host.json says `none`, and this decodes.
 *
 * A text that is not base64 of UTF-8 is returned as it is, and so is JSON, which the programming model has parsed. Pure.
 */
export function queuedMessage(received: unknown): unknown {
  if (typeof received !== 'string') return received;
  const text = decoded(received);
  return text === undefined ? received : parsed(text);
}

/** The text that a base64 text stands for; undefined if it is none. */
function decoded(text: string): string | undefined {
  if (text === '' || !base64.test(text) || text.length % 4 !== 0) return undefined;
  try {
    return utf8.decode(Buffer.from(text, 'base64'));
  } catch {
    return undefined;
  }
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
