import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Certificate } from './certificate.ts';
import { freePorts } from './freePorts.ts';

/**
 * The account that Azurite ships with; its key is public
 * (https://learn.microsoft.com/azure/storage/common/storage-connect-azurite).
 */
const account = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export interface AzuriteOptions {
  /** Data folder; absent: in memory. */
  data?: string;
  /** Port of the blob service; queue and table take the next two. 0 or absent: any free ports. */
  port?: number;
  /**
   * False: overwritten and deleted data keeps its space. Azurite otherwise collects it every ten minutes and
   * answers nothing meanwhile: for 33 s after 4,700 receipts and as many locks had been written (measured).
   */
  collectGarbage?: boolean;
  /** Speaks HTTPS with this certificate, and takes Entra tokens without a check of their signature. Default: HTTP. */
  tls?: Certificate | undefined;
}

export interface Azurite extends AsyncDisposable {
  connectionString: string;
  pid: number;
  /** Resolves when the process has ended, for whatever reason. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

/** Azurite as a package, or beside this file's folder in a package that has it. */
function azuriteProgram(): string {
  const beside = fileURLToPath(new URL('../azurite/dist/src/azurite.js', import.meta.url));
  return existsSync(beside) ? beside : createRequire(import.meta.url).resolve('azurite/dist/src/azurite.js');
}

/**
 * Maximum number of starts, each on other ports: a port can be taken between the look for free ones and the
 * start.
 */
const mostStarts = 5;

/**
 * Starts Azurite (blob, queue and table service) as a child process; resolves once all three take requests.
 */
export async function startAzurite(options: AzuriteOptions = {}): Promise<Azurite> {
  const { port = 0 } = options;
  for (let started = 1; ; started++) {
    try {
      return await startOn(port === 0 ? await freePorts(3) : [port, port + 1, port + 2], options);
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (!taken || port !== 0 || started === mostStarts) throw error;
    }
  }
}

async function startOn(
  [blob, queue, table]: readonly number[],
  { data, collectGarbage = true, tls }: AzuriteOptions,
): Promise<Azurite> {
  if (data !== undefined) mkdirSync(data, { recursive: true });
  const child = spawn(
    process.execPath,
    [
      '--require',
      fileURLToPath(new URL('azuriteChild.cjs', import.meta.url)),
      ...(collectGarbage
        ? []
        : ['--require', fileURLToPath(new URL('azuriteWithoutGc.cjs', import.meta.url))]),
      azuriteProgram(),
      ...(data === undefined ? ['--inMemoryPersistence'] : ['--location', data]),
      `--blobPort=${blob}`,
      `--queuePort=${queue}`,
      `--tablePort=${table}`,
      // The SDK uses a newer API version than Azurite knows.
      '--skipApiVersionCheck',
      '--disableTelemetry',
      ...(tls === undefined ? [] : [`--cert=${tls.certFile}`, `--key=${tls.keyFile}`, '--oauth=basic']),
    ],
    {
      // Azurite shuts down on a message over this channel; on Windows no signal can ask it to.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // If the parent has no console, as when `npm start` starts the local cloud, Windows would open one for
      // Azurite.
      windowsHide: true,
    },
  );
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const streams = [child.stdout, child.stderr];
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if ((output.match(/successfully listening/g) ?? []).length === 3) resolve();
    };
    for (const stream of streams) stream?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`Azurite ended with code ${code} at start: ${output}`)));
  });
  for (const stream of streams) stream?.removeAllListeners('data').resume();
  if (child.pid === undefined) throw new Error('Azurite has no process id');

  async function stop(): Promise<void> {
    // A failure to send means that it is already ending.
    if (child.connected) child.send('shutdown', () => {});
    await exited;
  }
  const origin = tls === undefined ? 'http://127.0.0.1' : 'https://localhost';
  return {
    connectionString: [
      `DefaultEndpointsProtocol=${origin.split(':')[0]}`,
      `AccountName=${account}`,
      `AccountKey=${accountKey}`,
      `BlobEndpoint=${origin}:${blob}/${account}`,
      `QueueEndpoint=${origin}:${queue}/${account}`,
      `TableEndpoint=${origin}:${table}/${account}`,
    ].join(';'),
    pid: child.pid,
    exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
