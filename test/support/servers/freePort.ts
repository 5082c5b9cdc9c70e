import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nothing listens on now. Below those that a system gives to outgoing connections
 * (32768 on Linux, 49152 elsewhere), so that a server which is started anew finds its port free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    const server = createServer();
    const failed = once(server, 'error').then(() => false);
    const listening = once(server.listen(port, '127.0.0.1'), 'listening').then(() => true);
    listening.catch(() => {});
    if (!(await Promise.race([failed, listening]))) continue;
    failed.catch(() => {});
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Several, no two of them equal. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
