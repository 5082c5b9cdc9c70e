import type { AccessKey } from './peer.ts';
import type { Connection, Container } from './rhea.ts';

/** One authentication attempt. rhea calls `start`, then reads `outcome`. */
interface Mechanism {
  outcome: boolean | undefined;
  username: string | undefined;
  /** The client gave the key, so it needs no token on `$cbs`. */
  proven: boolean;
  start(response: Buffer | undefined): void;
}

function anyone(): Mechanism {
  const mechanism: Mechanism = {
    outcome: undefined,
    username: 'anonymous',
    proven: false,
    start() {
      mechanism.outcome = true;
    },
  };
  return mechanism;
}

/** PLAIN: authorization id, user and password, separated by zero bytes. */
function withKey(key: AccessKey): Mechanism {
  const mechanism: Mechanism = {
    outcome: undefined,
    username: undefined,
    proven: false,
    start(response) {
      const [, user, password] = (response?.toString() ?? '').split('\0');
      mechanism.proven = user === key.name && password === key.value;
      mechanism.username = user;
      mechanism.outcome = mechanism.proven;
    },
  };
  return mechanism;
}

/** .NET clients ask for MSSBCBS. As with ANONYMOUS, they then prove themselves with a token on `$cbs`. */
export function offerSasl(container: Container, key: AccessKey): void {
  Object.assign(container.sasl_server_mechanisms as object, {
    MSSBCBS: anyone,
    PLAIN: () => withKey(key),
    ANONYMOUS: anyone,
  });
}

/** True if the client gave the key with PLAIN. */
export function plainAuthenticated(connection: Connection): boolean {
  const { sasl_transport: transport } = connection as unknown as {
    sasl_transport?: { selected?: { mechanism?: Partial<Mechanism> } };
  };
  return transport?.selected?.mechanism?.proven === true;
}
