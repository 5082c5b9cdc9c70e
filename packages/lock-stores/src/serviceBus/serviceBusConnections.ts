import type { ServiceBusClient, ServiceBusClientOptions } from '@azure/service-bus';

/** Makes a client of the namespace, with these options. */
export type ConnectServiceBus = (options: ServiceBusClientOptions) => ServiceBusClient;

/** A client and how many calls and sessions use it. */
export interface LockBusConnection {
  readonly client: ServiceBusClient;
  users: number;
  /** Something went wrong on it: it serves the sessions that it has, and no new ones. */
  retired: boolean;
}

/**
 * Clients of one namespace, of which the latest serves new sessions. A client that could not open its connection in time
 * never will again (measured with @azure/service-bus 7.9.5, whether a signal ended the attempt or the SDK's own 60 s). So
 * after a failure new sessions get a new client.
 */
export interface ServiceBusConnections extends AsyncDisposable {
  /** The connection for a new session. Its user must leave it. @throws Error after disposal. */
  take(): LockBusConnection;
  leave(connection: LockBusConnection): void;
  /** Nobody will take this connection any more. */
  retire(connection: LockBusConnection): void;
}

const closeWithinMs = 5_000;

export function serviceBusConnections(connect: ConnectServiceBus): ServiceBusConnections {
  const open = new Set<LockBusConnection>();
  let latest: LockBusConnection | undefined;
  let disposed = false;

  function closeIfIdle(connection: LockBusConnection): void {
    if (connection.retired && connection.users === 0 && open.delete(connection)) void close(connection);
  }

  return {
    take() {
      if (disposed) throw new Error('This lock store is disposed');
      // No retries: leases count every request, and choose when to send the next.
      latest ??= { client: connect({ retryOptions: { maxRetries: 0 } }), users: 0, retired: false };
      open.add(latest);
      latest.users++;
      return latest;
    },
    leave(connection) {
      connection.users--;
      closeIfIdle(connection);
    },
    retire(connection) {
      connection.retired = true;
      if (latest === connection) latest = undefined;
      closeIfIdle(connection);
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      const closing = [...open].map(close);
      open.clear();
      latest = undefined;
      await Promise.race([Promise.all(closing), timeOut(closeWithinMs)]);
    },
  };
}

/** Never rejects. With a silent server it may take a minute. */
async function close({ client }: LockBusConnection): Promise<void> {
  await client.close().catch(() => {});
}

function timeOut(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
