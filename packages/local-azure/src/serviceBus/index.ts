import type { Certificate } from '../certificate.ts';
import { Consumers } from './amqp/consumers.ts';
import { listen } from './amqp/server.ts';
import { BadForwarding, Broker } from './broker/broker.ts';
import { noJournal } from './broker/journal.ts';
import { type BrokerClock, systemBrokerClock } from './clock.ts';
import { ConfigError, type EntityConfig, entityOf, readConfig } from './config.ts';
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
  /** Queues and topics: a file in the format of the official emulator's Config.json, or its content. */
  config?: string | URL | object;
  /** Further queues: their properties, named as in Config.json, by name. */
  queues?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  clock?: BrokerClock;
  /** Creates the queue, topic or subscription that a client names and that does not exist. Default: that is an error. */
  create?: boolean;
  /** Speaks TLS with this certificate on both ports. Default: neither does. */
  tls?: Certificate | undefined;
}

export interface ServiceBus extends AsyncDisposable {
  connectionString: string;
  /** For ServiceBusAdministrationClient, which speaks only TLS. */
  administration: string;
  /** `http://127.0.0.1:PORT`, for `/_local/stats` and `/_local/faults`. */
  localAddress: string;
  port: number;
  stop(): Promise<void>;
}

/** The official emulator's key. It is public and protects nothing. */
const key = { name: 'RootManageSharedAccessKey', value: 'SAS_KEY_VALUE' };

/**
 * Starts a stand-in for Azure Service Bus on 127.0.0.1: queues and topics over AMQP 1.0, and the management API.
 *
 * @throws {ConfigError} naming each invalid or unsupported field of the configuration
 */
export async function startServiceBus(options: ServiceBusOptions = {}): Promise<ServiceBus> {
  const { port = 0, httpPort = 0, data, clock = systemBrokerClock, tls } = options;
  const configs = readConfig(options.config, options.queues);
  const named = new Set(configs.map(({ name }) => name.toLowerCase()));
  // If a later part cannot start (a port is taken, say), the parts already running stop in reverse order.
  await using starting = new AsyncDisposableStack();
  const storage = data === undefined ? undefined : openStorage(data);
  starting.defer(() => storage?.close());
  const created = (storage?.entities() ?? []).filter(({ name }) => !named.has(name.toLowerCase()));
  const broker = new Broker([...configs, ...created], clock, storage ?? noJournal);
  for (const config of configs) requireForwarding(broker, config);
  starting.defer(() => broker.stop());
  for (const queue of broker.all()) storage?.load(queue, clock.now());
  broker.startForwarding();
  const faults = new Faults();
  const consumers = new Consumers(broker);
  const amqp = await listen(
    { broker, faults, key, consumers, create: options.create === true ? createFor(broker) : undefined },
    port,
    tls,
  );
  starting.defer(() => amqp.stop());
  const http = await serveHttp(
    {
      broker,
      key,
      faults,
      consumers,
      dropConnections: () => amqp.dropConnections(),
      endLinksTo: (entity) => amqp.endLinksTo(entity),
    },
    httpPort,
    tls,
  );
  starting.defer(() => http.stop());

  const host = tls === undefined ? '127.0.0.1' : 'localhost';
  const connectionTo = (at: number) =>
    `Endpoint=sb://${host}:${at};SharedAccessKeyName=${key.name};SharedAccessKey=${key.value}`;
  const running = starting.move();
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= running.disposeAsync());
  return {
    connectionString: connectionTo(amqp.port) + (tls === undefined ? ';UseDevelopmentEmulator=true' : ''),
    administration: connectionTo(http.port),
    localAddress: `${tls === undefined ? 'http' : 'https'}://${host}:${http.port}`,
    port: amqp.port,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** @throws {ConfigError} */
function requireForwarding(broker: Broker, config: EntityConfig): void {
  try {
    broker.requireForwarding(config);
  } catch (cause) {
    if (!(cause instanceof BadForwarding)) throw cause;
    throw new ConfigError(`Service Bus configuration: ${cause.message}`, { cause });
  }
}

/** Creates what a client names: a queue, or a subscription and its topic. Undefined for a name that cannot be. */
function createFor(broker: Broker) {
  return (address: string, wantsSession: boolean) => {
    const name = address
      .replace(/\/\$deadletterqueue$/i, '')
      .replace(/\/subscriptions\//i, '/Subscriptions/');
    const [topic = '', subscription] = name.split('/Subscriptions/');
    const wanted: EntityConfig[] = [];
    const properties = wantsSession ? { RequiresSession: true } : {};
    try {
      if (subscription === undefined) wanted.push(entityOf('queue', name, properties));
      else wanted.push(entityOf('topic', topic, {}), entityOf('subscription', name, properties));
    } catch {
      return undefined;
    }
    if (subscription !== undefined && broker.entity(topic)?.config.kind === 'queue') return undefined;
    for (const config of wanted.filter((each) => broker.entity(each.name) === undefined)) {
      broker.add(config);
      broker.journal.putEntity(config);
    }
    return broker.find(address);
  };
}
