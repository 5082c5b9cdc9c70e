import { freePorts } from '../../../packages/local-azure/src/freePorts.ts';

/** A port of 127.0.0.1 that nothing listens on now. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}
