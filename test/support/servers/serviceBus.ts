import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../../packages/local-azure/src/freePorts.ts';
import { queuesFile } from '../lockSessions.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

const program = fileURLToPath(
  new URL('../../../packages/local-azure/src/serviceBus/main.ts', import.meta.url),
);

export interface ServiceBusProcess extends ServerProcess {
  port: number;
  connectionString: string;
}

/** The Service Bus stand-in in a process of its own, with these queues (properties as in Config.json). It keeps its data. */
export async function startServiceBusProcess(queues: Record<string, object>): Promise<ServiceBusProcess> {
  const [port = 0, httpPort = 0] = await freePorts(2);
  const server = await startServer({
    name: 'service-bus',
    command: process.execPath,
    args: (folder) => [
      program,
      `--port=${port}`,
      `--http-port=${httpPort}`,
      `--data=${folder}`,
      `--config=${join(folder, 'Config.json')}`,
    ],
    prepare: async (folder) => void (await queuesFile(folder, queues)),
    ready: () => fetch(`http://127.0.0.1:${httpPort}/_local/stats`),
  });
  const key = 'SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE';
  const connectionString = `Endpoint=sb://127.0.0.1:${port};${key};UseDevelopmentEmulator=true`;
  return { ...server, port, connectionString };
}
