import type { DurableClient } from './client.ts';

export interface ApiRequest {
  method: string;
  /** Decoded segments after `…/durabletask/`. */
  path: string[];
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** Origin under which the caller reached this host. */
  origin: string;
  /** The full URL. */
  url: string;
}

export interface ApiAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; undefined for an empty body. */
  body?: unknown;
}

export interface ApiOptions {
  client: DurableClient;
  hubName: string;
  /** The key that the webhooks ask for, which links have to contain. */
  key: string | undefined;
  orchestrators: string[];
}

export const notFound: ApiAnswer = { status: 404 };

export function notSupported(what: string): ApiAnswer {
  return { status: 501, body: `${what}: not supported by the local Functions host` };
}

export function isTrue(query: URLSearchParams, name: string): boolean {
  return query.get(name)?.toLowerCase() === 'true';
}

export function isJson(text: string): boolean {
  if (text === '') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
