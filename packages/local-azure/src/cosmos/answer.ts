import type { IncomingHttpHeaders } from 'node:http';
import type { EmptyPage } from './emptyPages.ts';

/** A request with its body read, as handlers see it. */
export interface CosmosRequest {
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** A page that has to be empty, because a test asked for one. */
  emptyPage?: EmptyPage;
}

/** Result of a handler. The server adds the headers common to all answers. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** JSON text; empty for 204 and 304. */
  body: string;
}

export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
