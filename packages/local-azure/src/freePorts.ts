import { createServer, type Server } from 'node:net';

/**
 * Finds free TCP ports on the loopback interface. Holds each open until all are known, so that no two are
 * equal.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map(portOf);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

function listen(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}
