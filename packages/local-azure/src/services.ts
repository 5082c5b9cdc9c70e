import { join } from 'node:path';
import { type Azurite, startAzurite } from './azurite.ts';
import type { Certificate } from './certificate.ts';
import { type Cosmos, startCosmos } from './cosmos/index.ts';
import { orTaken } from './failure.ts';
import { type ServiceBus, startServiceBus } from './serviceBus/index.ts';

export interface ServicesOptions {
  /** Folder for all data. Absent: in memory. */
  data?: string | undefined;
  ports: { cosmos: number; serviceBus: number; serviceBusHttp: number; azurite: number };
  /** Partition key ranges of each container. */
  partitions: number;
  /** Creates missing queues, topics and subscriptions. Default: false. */
  create?: boolean;
  /** Queues and topics, in the format of the official emulator's Config.json. */
  serviceBusConfig?: string | URL | undefined;
  /** All speak TLS with this certificate. Absent: none does. */
  tls?: Certificate | undefined;
}

/** The three services on which Functions apps are built, running. */
export interface Services {
  azurite: Azurite;
  cosmos: Cosmos;
  serviceBus: ServiceBus;
  /** The settings under which an app finds them. */
  settings: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * Starts Cosmos, Service Bus and Azurite. If one of them cannot start, the others stop.
 *
 * @throws {PortTaken}
 * @throws {ConfigError} for the configuration of Service Bus
 */
export async function startServices({
  data,
  ports,
  partitions,
  serviceBusConfig,
  create = false,
  tls,
}: ServicesOptions): Promise<Services> {
  await using starting = new AsyncDisposableStack();
  const folder = (name: string) => (data === undefined ? {} : { data: join(data, name) });
  const cosmos = starting.use(
    await orTaken(
      '--cosmos-port',
      ports.cosmos,
      startCosmos({ ...folder('cosmos'), port: ports.cosmos, partitions, tls }),
    ),
  );
  const serviceBus = starting.use(
    await orTaken(
      '--service-bus-port or --service-bus-http-port',
      ports.serviceBus,
      startServiceBus({
        ...folder('service-bus'),
        port: ports.serviceBus,
        httpPort: ports.serviceBusHttp,
        create,
        tls,
        ...(serviceBusConfig === undefined ? {} : { config: serviceBusConfig }),
      }),
    ),
  );
  const azurite = starting.use(
    await orTaken(
      '--azurite-port (it takes three ports)',
      ports.azurite,
      startAzurite({ ...folder('azurite'), port: ports.azurite, tls }),
    ),
  );
  const running = starting.move();
  return {
    azurite,
    cosmos,
    serviceBus,
    settings: {
      AzureWebJobsStorage: azurite.connectionString,
      Cosmos: cosmos.connectionString,
      ServiceBus: serviceBus.connectionString,
      SERVICE_BUS_LOCAL: serviceBus.localAddress,
      ...(tls === undefined
        ? {}
        : { ServiceBusAdministration: serviceBus.administration, NODE_EXTRA_CA_CERTS: tls.certFile }),
    },
    stop: () => running.disposeAsync(),
  };
}
