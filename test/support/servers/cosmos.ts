import { fileURLToPath } from 'node:url';
import { provisionCosmos } from '../../../local/provision.ts';
import { emulatorKey } from '../../../packages/local-azure/src/cosmos/index.ts';
import { freePorts } from '../../../packages/local-azure/src/freePorts.ts';
import { type ServerProcess, startServer } from './serverProcess.ts';

const program = fileURLToPath(new URL('../../../packages/local-azure/src/cosmos/main.ts', import.meta.url));

export interface CosmosProcess extends ServerProcess {
  port: number;
  connectionString: string;
}

/** The Cosmos stand-in in a process of its own, with the app's containers. It keeps its data. */
export async function startCosmosProcess(): Promise<CosmosProcess> {
  const [port = 0] = await freePorts(1);
  const endpoint = `http://127.0.0.1:${port}/`;
  const server = await startServer({
    name: 'cosmos',
    command: process.execPath,
    args: (folder) => [program, '--port', String(port), '--data', folder],
    ready: () => fetch(`${endpoint}_local/stats`),
  });
  const connectionString = `AccountEndpoint=${endpoint};AccountKey=${emulatorKey};`;
  await provisionCosmos(connectionString);
  return { ...server, port, connectionString };
}
