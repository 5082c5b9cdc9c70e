import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * Below the ports of outgoing connections (from 32768 on Linux, 49152 elsewhere): one of these could take a port after it was
 * found free and before its server listens.
 */
const from = 15_000;
const until = 32_000;
const tries = 100;

/**
 * Finds free TCP ports on the loopback interface. Holds each open until all are known, so that no two are
 * equal.
 */
export async function freePorts(count: number): Promise<number[]> {
  const held = await Promise.all(Array.from({ length: count }, () => holdPort()));
  await Promise.all(held.map(({ server }) => new Promise((done) => server.close(done))));
  return held.map(({ port }) => port);
}

async function holdPort(): Promise<{ port: number; server: Server }> {
  for (let left = tries; ; left--) {
    const port = randomInt(from, until);
    try {
      return { port, server: await listen(port) };
    } catch (error) {
      if (left === 1) throw error;
    }
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
