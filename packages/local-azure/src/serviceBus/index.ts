import type { Certificate } from '../certificate.ts';
import { Consumers } from './amqp/consumers.ts';
import { listen } from './amqp/server.ts';
import { Broker } from './broker/broker.ts';
import { noJournal } from './broker/journal.ts';
import { type BrokerClock, systemBrokerClock } from './clock.ts';
import { readConfig } from './config.ts';
import { Faults } from './faults.ts';
import { serveHttp } from './http.ts';
import { openStorage } from './storage.ts';

export interface ServiceBusOptions {
  /** AMQP port. 0 or absent: any free port. */
  port?: number;
  /** Port of `/_local/…`. 0 or absent: any free port. */
  httpPort?: number;
  /** Folder for the messages. Absent: in memory. */
  data?: string;
  /** A file in the format of the official emulator's Config.json. */
  config?: string | URL;
  /** Further queues: their properties, named as in Config.json, by name. */
  queues?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  clock?: BrokerClock;
  /** Speaks TLS with this certificate on both ports. Default: neither does. */
  tls?: Certificate | undefined;
}

export interface ServiceBus extends AsyncDisposable {
  connectionString: string;
  /** `http://127.0.0.1:PORT`, for `/_local/stats` and `/_local/faults`. */
  localAddress: string;
  port: number;
  stop(): Promise<void>;
}

/** The official emulator's key. It is public and protects nothing. */
const key = { name: 'RootManageSharedAccessKey', value: 'SAS_KEY_VALUE' };

/**
 * Starts a stand-in for Azure Service Bus on 127.0.0.1: queues over AMQP 1.0.
 *
 * @throws {ConfigError} naming each invalid or unsupported field of the configuration
 */
export async function startServiceBus(options: ServiceBusOptions = {}): Promise<ServiceBus> {
  const { port = 0, httpPort = 0, data, clock = systemBrokerClock, tls } = options;
  const configs = readConfig(options.config, options.queues);
  // If a later part cannot start (a port is taken, say), the parts already running stop in reverse order.
  await using starting = new AsyncDisposableStack();
  const storage = data === undefined ? undefined : openStorage(data);
  starting.defer(() => storage?.close());
  const broker = new Broker(configs, clock, storage ?? noJournal);
  starting.defer(() => broker.stop());
  for (const queue of broker.all()) storage?.load(queue, clock.now());
  const faults = new Faults();
  const consumers = new Consumers(broker);
  const amqp = await listen({ broker, faults, key, consumers }, port, tls);
  starting.defer(() => amqp.stop());
  const http = await serveHttp(
    { broker, faults, consumers, dropConnections: () => amqp.dropConnections() },
    httpPort,
    tls,
  );
  starting.defer(() => http.stop());

  const host = tls === undefined ? '127.0.0.1' : 'localhost';
  const running = starting.move();
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= running.disposeAsync());
  return {
    connectionString: `Endpoint=sb://${host}:${amqp.port};SharedAccessKeyName=${key.name};SharedAccessKey=${key.value}${tls === undefined ? ';UseDevelopmentEmulator=true' : ''}`,
    localAddress: `${tls === undefined ? 'http' : 'https'}://${host}:${http.port}`,
    port: amqp.port,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
