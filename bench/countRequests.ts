/**
 * Loaded into a host before its app (`node --import`): counts the requests that it makes through `node:http`, by port, and
 * keeps the counts in the file REQUEST_COUNTS. The SDKs of storage go this way; that of Cosmos does not.
 */
import diagnostics from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';

const file = process.env.REQUEST_COUNTS;
const counts = new Map<string, number>();

if (file !== undefined) {
  diagnostics.subscribe('http.client.request.start', (event) => {
    const port = portOf(event);
    counts.set(port, (counts.get(port) ?? 0) + 1);
  });
  setInterval(() => writeFileSync(file, JSON.stringify(Object.fromEntries(counts))), 250).unref();
}

function portOf(event: unknown): string {
  const request =
    typeof event === 'object' && event !== null && 'request' in event ? event.request : undefined;
  if (typeof request !== 'object' || request === null || !('getHeader' in request)) return '';
  const { getHeader } = request;
  const host: unknown = typeof getHeader === 'function' ? getHeader.call(request, 'host') : '';
  return String(host).split(':')[1] ?? '';
}
