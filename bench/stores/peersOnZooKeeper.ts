import { zooKeeperLockStore } from '../../packages/lock-stores/src/zooKeeper/zooKeeperLockStore.ts';
import { startZooKeeper } from '../../test/support/servers/zooKeeper.ts';
import { ourPeers } from './ourPeer.ts';
import type { Peers } from './peers.ts';

/** A single ZooKeeper. Node has no kept client of it to compare with. */
export async function zooKeeperPeers(): Promise<Peers> {
  const server = await startZooKeeper(2_000);
  return {
    peers: ourPeers(() => zooKeeperLockStore(server.address)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
