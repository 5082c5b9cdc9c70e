import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpCookie, HttpData, InvocationResponse } from '../coreTypes.ts';

/** The largest body the host accepts: 100 MB, unless a setting of the real host says otherwise. */
export const maxBodyBytes = () => Number(process.env.FUNCTIONS_REQUEST_BODY_SIZE_LIMIT) || 104_857_600;

/** Reads the body of a request; undefined if it exceeds `limit` bytes. */
export async function readBody(
  request: IncomingMessage,
  limit = maxBodyBytes(),
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Converts a request for the programming model. Joins repeated headers and query names with commas. */
export function toHttpData(
  request: IncomingMessage,
  url: URL,
  params: Record<string, string>,
  body: Buffer,
): HttpData {
  const headers: Record<string, string> = {};
  for (const [name, values] of Object.entries(request.headersDistinct))
    headers[name] = (values ?? []).join(', ');
  const query: Record<string, string> = {};
  for (const name of url.searchParams.keys()) query[name] = url.searchParams.getAll(name).join(',');
  return {
    method: request.method ?? 'GET',
    url: url.href,
    headers,
    params,
    query,
    ...(body.length > 0 && { body: { bytes: body } }),
  };
}

/** Answers with a status and an empty body, as the host does whenever no function answered. */
export function answerEmpty(response: ServerResponse, status: number): void {
  response.writeHead(status, status === 204 ? {} : { 'content-length': 0 }).end();
}

/** Writes what a function returned; 204 if it returned nothing. */
export function writeResponse(response: ServerResponse, { returnValue }: InvocationResponse): void {
  const http = returnValue?.http;
  if (http === undefined) {
    answerEmpty(response, 204);
    return;
  }
  const bytes = http.body?.bytes;
  const cookies = (http.cookies ?? []).map(formatCookie);
  response.statusCode = Number(http.statusCode ?? 200);
  for (const [name, value] of Object.entries(http.headers ?? {})) {
    if (!/^(transfer-encoding|connection|keep-alive|content-length)$/i.test(name))
      response.setHeader(name, value);
  }
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  const mayHaveBody = response.statusCode !== 204 && response.statusCode !== 304;
  if (mayHaveBody) response.setHeader('content-length', bytes?.byteLength ?? 0);
  response.end(mayHaveBody && bytes !== undefined ? bytes : undefined);
}

function formatCookie(cookie: HttpCookie): string {
  const parts = [`${cookie.name}=${encodeURIComponent(cookie.value)}`];
  if (cookie.maxAge !== undefined) parts.push(`Max-Age=${Math.floor(cookie.maxAge.value)}`);
  if (cookie.domain !== undefined) parts.push(`Domain=${cookie.domain.value}`);
  // As the real host has it: a cookie without a path is good for all of them.
  parts.push(`Path=${cookie.path?.value ?? '/'}`);
  if (cookie.expires !== undefined) {
    parts.push(`Expires=${new Date(cookie.expires.value.seconds * 1000).toUTCString()}`);
  }
  if (cookie.httpOnly?.value) parts.push('HttpOnly');
  if (cookie.secure?.value) parts.push('Secure');
  if (cookie.sameSite === 'lax') parts.push('SameSite=Lax');
  if (cookie.sameSite === 'strict') parts.push('SameSite=Strict');
  if (cookie.sameSite === 'explicitNone') parts.push('SameSite=None');
  return parts.join('; ');
}
