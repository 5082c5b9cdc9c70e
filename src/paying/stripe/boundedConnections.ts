import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Makes an agent destroy every connection that one request takes up for longer than `boundMs` milliseconds: to be made, to
 * send, and to bring the whole answer. A socket's own time-out ends silence only: an answer that comes byte by byte would
 * keep its connection for as long as it likes.
 *
 * The three methods are those that Node's agent offers to be overridden
 * (https://nodejs.org/docs/latest-v24.x/api/http.html#agentcreateconnectionoptions-callback and the two after it).
 */
export function boundConnections<T extends Agent>(agent: T, boundMs: number): T {
  const bounds = new WeakMap<Duplex, NodeJS.Timeout>();
  const begin = (socket: Duplex) => {
    end(socket);
    bounds.set(
      socket,
      setTimeout(() => socket.destroy(new ConnectionTooLong(boundMs)), boundMs),
    );
  };
  const end = (socket: Duplex) => clearTimeout(bounds.get(socket));

  const createConnection = agent.createConnection.bind(agent);
  agent.createConnection = (...options) => {
    const socket = createConnection(...options);
    if (socket) {
      begin(socket);
      socket.once('close', () => end(socket));
    }
    return socket;
  };
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    end(socket);
    return keepSocketAlive(socket);
  };
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.reuseSocket = (socket, request) => {
    begin(socket);
    reuseSocket(socket, request);
  };
  return agent;
}

class ConnectionTooLong extends Error {
  override readonly name = 'ConnectionTooLong';
  constructor(boundMs: number) {
    super(`the request was not done after ${boundMs} ms`);
  }
}
