import { once } from 'node:events';
import { connect } from 'node:net';
import { findProgram } from './findProgram.ts';
import { freePort } from './freePort.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

export const redisPrograms = { 'redis-server': findProgram('redis-server') };

export interface RedisServerProcess extends ServerProcess {
  port: number;
  /** `redis://127.0.0.1:{port}` */
  url: string;
}

/** Keeps nothing: it starts empty. */
const inMemory = ['--save', '', '--appendonly', 'no'];

/** Writes every change to its disk before it answers. */
export const keepsEverything = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];

/** Writes every change before it answers, but to the disk only later: it survives its own end, not that of the machine. */
export const survivesKill = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'];

/** Starts a Redis server of its own. Without `settings` it keeps its data in memory only. */
export async function startRedis(settings: readonly string[] = inMemory): Promise<RedisServerProcess> {
  const port = await freePort();
  const server = await startServer({
    name: 'redis',
    command: redisPrograms['redis-server'] ?? 'redis-server',
    args: (folder) => ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...settings],
    ready: () => answersPing(port),
  });
  return { ...server, port, url: `redis://127.0.0.1:${port}` };
}

async function answersPing(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  try {
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(2_000) })) as [string];
    if (!answer.startsWith('+PONG')) throw new Error(`answered ${answer}`);
  } finally {
    socket.destroy();
  }
}
