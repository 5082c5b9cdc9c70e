import type { IncomingHttpHeaders } from 'node:http';

/** A request as the handlers see it, its body read. */
export interface CosmosRequest {
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What goes back; the server adds the headers that every answer has. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** JSON text, or nothing (204, 304). */
  body: string;
}

export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
