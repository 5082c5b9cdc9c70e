import type { BenchStoreKind } from './benchStore.ts';
import { blob } from './blob.ts';
import { cosmos } from './cosmos.ts';
import { etcd } from './etcd.ts';
import { mysql } from './mysql.ts';
import { postgres } from './postgres.ts';
import { postgresAdvisory } from './postgresAdvisory.ts';
import { quorum } from './quorum.ts';
import { redis } from './redis.ts';
import { serviceBus } from './serviceBus.ts';
import { zooKeeper } from './zooKeeper.ts';

const kinds: readonly BenchStoreKind[] = [
  blob,
  redis,
  quorum,
  postgres,
  postgresAdvisory,
  mysql,
  etcd,
  zooKeeper,
  cosmos,
  serviceBus,
];

/**
 * Those that are asked for, and whose programs are installed; says which are left out. `names` are names of stores, or parts of
 * them: `postgres` is one store, `postg` are both.
 */
export function chosenStores(names: string | undefined): BenchStoreKind[] {
  const asked = names?.split(',');
  const isName = (text: string) => kinds.some(({ name }) => name === text);
  const chosen = kinds.filter(
    ({ name }) => asked?.some((text) => (isName(text) ? name === text : name.includes(text))) ?? true,
  );
  if (chosen.length === 0)
    throw new Error(`no such store; there are ${kinds.map(({ name }) => name).join(', ')}`);
  return chosen.filter(({ name, programs }) => {
    const missing = Object.keys(programs).filter((program) => programs[program] === undefined);
    if (missing.length > 0) console.log(`${name}: left out, ${missing.join(' and ')} not installed`);
    return missing.length === 0;
  });
}
