import type { TriggerInput } from './invoker.ts';
import { fromTypedData } from './typedData.ts';

/**
 * The values that `{name}` and `{name.member}` in other bindings of a function stand for: the trigger's metadata, the members of
 * a JSON message or body, and of a request its route parameters, `Query` and `Headers`
 * (https://learn.microsoft.com/azure/azure-functions/functions-bindings-expressions-patterns).
 */
export function bindingData({ data, triggerMetadata = {} }: TriggerInput): Record<string, unknown> {
  const { http } = data;
  const message =
    http === undefined ? (data.json ?? data.string) : textOf(http.body?.bytes ?? http.body?.string);
  const metadata = Object.entries(triggerMetadata).map(([name, value]) => [name, fromTypedData(value)]);
  // The first of a name counts, in whatever case: a message's own `id` before the id that its queue gave it.
  return {
    ...(http === undefined ? {} : { ...http.params, Query: http.query, Headers: http.headers }),
    ...membersOf(message),
    ...Object.fromEntries(metadata),
  };
}

const textOf = (body: Uint8Array | string | undefined) =>
  body === undefined ? undefined : Buffer.from(body).toString();

function membersOf(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** @throws if there is no value of that name */
export function boundValue(expression: string, data: Record<string, unknown>): unknown {
  let value: unknown = data;
  for (const name of expression.split('.')) {
    const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    value = members.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  }
  if (value === undefined) throw new Error(`the trigger has no value for {${expression}}`);
  return value;
}

const expressions = /\{([^{}]+)\}/g;

/** Replaces every `{name}`. @throws if there is no value of that name */
export const fillIn = (text: string, data: Record<string, unknown>): string =>
  text.replaceAll(expressions, (_, name: string) => String(boundValue(name, data)));

/** Makes a matcher for a text with `{name}` in it. It returns what stands for the names; undefined if the text is another. */
export function patternOf(pattern: string): (text: string) => Record<string, string> | undefined {
  const names = [...pattern.matchAll(expressions)].map(([, name = '']) => name);
  const parts = pattern.split(/\{[^{}]+\}/).map((part) => RegExp.escape(part));
  // As on the real host, the first name takes as little as it can, and the last the rest.
  const form = new RegExp(`^${parts.join('(.+?)')}$`, 's');
  return (text) => {
    const match = form.exec(text);
    return match === null
      ? undefined
      : Object.fromEntries(names.map((name, at) => [name, match[at + 1] ?? '']));
  };
}
