import { fileURLToPath } from 'node:url';
import { endWithProcess } from '../support/endWithProcess.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor } from '../support/localCloud.ts';
import { startAmqpTap } from './amqpTap.ts';
import {
  describeBlob,
  describeCosmos,
  describePayments,
  describeQueue,
  describeReceived,
} from './describeRequest.ts';
import type { Gate } from './gate.ts';
import { startHttpTap } from './httpTap.ts';
import { watchTakenMessages } from './takenMessages.ts';

const appDir = fileURLToPath(new URL('../../', import.meta.url));

export interface TappedHost extends AsyncDisposable {
  process: HostProcess;
  /**
   * Makes the work items visible that the dead host holds, those of a read that was in flight at its death included. Resolves to
   * their number.
   */
  giveBack(): Promise<number>;
}

/**
 * Starts a host of the app with all its connections to the cloud going through taps: Cosmos, payments, blobs and queues
 * by request, Service Bus by frame. Tables are not tapped: only the task hub uses them.
 */
export async function startTappedHost(
  cloud: LocalCloud,
  {
    gate,
    env,
    killed,
  }: {
    gate: Gate;
    env: Record<string, string>;
    /** Called when a tap has killed the host. */
    killed: () => void;
  },
): Promise<TappedHost> {
  let host: HostProcess | undefined;
  let dead = false;
  const kill = () => {
    dead = true;
    host?.kill('SIGKILL');
    killed();
  };
  const taken = watchTakenMessages();
  const storage = new Map(cloud.storage.split(';').map((part) => splitAt(part, '=')));
  const endpoint = (name: string) => new URL(storage.get(name) ?? '');
  await using starting = new AsyncDisposableStack();
  const http = async (options: Omit<Parameters<typeof startHttpTap>[0], 'gate' | 'kill' | 'isDead'>) => {
    const tap = await startHttpTap({ ...options, gate, kill, isDead: () => dead });
    starting.defer(() => tap.stop());
    return { address: `http://127.0.0.1:${tap.port}`, idle: () => tap.idle() };
  };
  const cosmosEndpoint = /AccountEndpoint=([^;]+)/.exec(cloud.cosmos)?.[1] ?? '';
  const busPort = Number(/Endpoint=sb:\/\/127\.0\.0\.1:(\d+)/.exec(cloud.serviceBus)?.[1]);
  const [cosmos, payments, blob, queue, bus] = await Promise.all([
    http({ target: cosmosEndpoint, describe: describeCosmos }),
    http({ target: cloud.payments, describe: describePayments }),
    http({ target: endpoint('BlobEndpoint').origin, describe: describeBlob }),
    http({
      target: endpoint('QueueEndpoint').origin,
      describe: describeQueue,
      describeAnswer: (exchange, { body }) => describeReceived(exchange, body),
      answered: taken.answered,
    }),
    startAmqpTap({ port: busPort, gate, kill }),
  ]);
  starting.defer(() => bus.stop());
  storage.set('BlobEndpoint', `${blob.address}${endpoint('BlobEndpoint').pathname}`);
  storage.set('QueueEndpoint', `${queue.address}${endpoint('QueueEndpoint').pathname}`);

  const started = await startHostProcess({
    app: appDir,
    args: ['--no-timer-singleton'],
    env: {
      ...settingsFor({
        ...cloud,
        storage: [...storage].map(([name, value]) => `${name}=${value}`).join(';'),
        cosmos: cloud.cosmos.replace(cosmosEndpoint, `${cosmos.address}/`),
        serviceBus: cloud.serviceBus.replace(`127.0.0.1:${busPort}`, `127.0.0.1:${bus.port}`),
        payments: payments.address,
      }),
      ...env,
    },
  });
  host = started;
  starting.use(started);
  starting.use(endWithProcess(() => started.kill('SIGKILL')));
  const running = starting.move();
  const giveBack = async () => {
    await queue.idle();
    return taken.giveBack(cloud.queues);
  };
  return { process: started, giveBack, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return [text.slice(0, at), text.slice(at + 1)];
}
