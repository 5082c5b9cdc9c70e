import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { RequestPolicyFactory } from '@azure/storage-blob';

/** Connections to one service that no other client of the process uses. */
export interface OwnConnections {
  /** Sends requests over them. */
  policy: RequestPolicyFactory;
  /** Ends them. A request that comes later opens a new one. */
  close(): void;
}

/**
 * All clients of storage in a process share their connections by default. While thousands of receipts are written, a
 * renewal would then wait for a new connection and its handshake: leases were lost that way. `url`: of the service.
 */
export function ownConnections(url: string): OwnConnections {
  const agent = new (url.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true });
  return {
    policy: {
      create: (next) => ({
        sendRequest(request) {
          request.agent = agent;
          return next.sendRequest(request);
        },
      }),
    },
    close: () => agent.destroy(),
  };
}
