/**
 * The cost of leases compared with the same calls on the bare SDK, in one run on one Azurite. Short rounds of
 * the two alternate, and each round is compared with its neighbour, so other load on the machine affects both
 * equally. `npm run bench -- locking` exits with 1 if leases take more than 1.10 times as long as the bare
 * calls, or make one request more. `--cycles N` per round and lane count, `--rounds N`.
 */
import { randomUUID } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { parseArgs } from 'node:util';
import { ContainerClient } from '@azure/storage-blob';
import { blobLockStore } from '../packages/leases/src/blobLockStore.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { createLocks } from '../packages/leases/src/index.ts';
import { noTelemetry } from '../packages/leases/src/telemetry.ts';
import { startAzurite } from '../packages/local-azure/src/azurite.ts';

const { values } = parseArgs({
  options: { cycles: { type: 'string', default: '64' }, rounds: { type: 'string', default: '60' } },
});
const cycles = Number(values.cycles);
const rounds = Number(values.rounds);
const allowed = 1.1;

type Cycle = (key: string) => Promise<void>;

let requests = 0;
diagnostics.subscribe('http.client.request.start', () => requests++);

await using azurite = await startAzurite();
const bare = new ContainerClient(azurite.connectionString, 'bench-locks', { retryOptions: { maxTries: 1 } });
await bare.createIfNotExists();
const locks = createLocks(blobLockStore(bare), { clock: systemClock, telemetry: noTelemetry });
const owner = { instance: 'bench', job: 'bench' };

const bareFenced: Cycle = async (key) => {
  const blob = bare.getBlockBlobClient(key);
  const { metadata, etag = '' } = await blob.getProperties();
  const leaseId = randomUUID();
  const lease = blob.getBlobLeaseClient(leaseId);
  await lease.acquireLease(30);
  const fence = String(Number(metadata?.fence ?? 0) + 1);
  const written = {
    key,
    instance: 'bench',
    job: 'bench',
    since: new Date().toISOString(),
    leasems: '30000',
    fence,
  };
  await blob.setMetadata(written, { conditions: { leaseId, ifMatch: etag } });
  await lease.releaseLease();
};

const bareUnfenced: Cycle = async (key) => {
  const lease = bare.getBlockBlobClient(key).getBlobLeaseClient(randomUUID());
  await lease.acquireLease(30);
  await lease.releaseLease();
};

const ours =
  (fenced: boolean): Cycle =>
  async (key) => {
    const lease = await locks.tryAcquire(key, owner, { fenced });
    if (lease === null) throw new Error(`${key} is held`);
    await lease.release();
  };

interface Round {
  ms: number;
  requests: number;
}

/** Milliseconds and requests for `cycles` cycles in `lanes` concurrent lanes, each with its own lock. */
async function round(cycle: Cycle, kind: string, lanes: number): Promise<Round> {
  const before = requests;
  const startedAt = performance.now();
  let left = cycles;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (left-- > 0) await cycle(`${kind}/${lane}`);
    }),
  );
  return { ms: performance.now() - startedAt, requests: requests - before };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

let failed = false;
console.log(`${cycles} cycles a round, median of ${rounds} rounds`);
for (const [kind, bareCycle, ourCycle] of [
  ['fenced', bareFenced, ours(true)],
  ['unfenced', bareUnfenced, ours(false)],
] as const) {
  for (let lane = 0; lane < 32; lane++) {
    await bare.getBlockBlobClient(`bare-${kind}/${lane}`).upload('', 0);
    // Compiles and warms up both before the first counted round.
    for (let i = 0; i < 30; i++) {
      await bareCycle(`bare-${kind}/${lane}`);
      await ourCycle(`ours-${kind}/${lane}`);
    }
  }
  for (const lanes of [1, 8, 32]) {
    const bareRounds: Round[] = [];
    const ourRounds: Round[] = [];
    for (let i = -1; i < rounds; i++) {
      const pair = [
        async () => ({ kind: 'bare', ...(await round(bareCycle, `bare-${kind}`, lanes)) }),
        async () => ({ kind: 'ours', ...(await round(ourCycle, `ours-${kind}`, lanes)) }),
      ];
      for (const run of i % 2 === 0 ? pair : pair.reverse()) {
        const result = await run();
        // The first pair is a warm-up.
        if (i >= 0) (result.kind === 'bare' ? bareRounds : ourRounds).push(result);
      }
    }
    const bareMs = median(bareRounds.map(({ ms }) => ms));
    const ourMs = median(ourRounds.map(({ ms }) => ms));
    const bareRequests = median(bareRounds.map(({ requests: sent }) => sent / cycles));
    const ourRequests = median(ourRounds.map(({ requests: sent }) => sent / cycles));
    const ratio = median(ourRounds.map(({ ms }, i) => ms / (bareRounds[i]?.ms ?? Number.NaN)));
    if (ratio > allowed || ourRequests > bareRequests) failed = true;
    const rate = (ms: number) => `${((cycles / ms) * 1000).toFixed(0).padStart(5)} cycles/s`;
    console.log(
      `${kind.padEnd(8)} ${String(lanes).padStart(2)} lanes:  SDK ${rate(bareMs)}, ${bareRequests} requests;` +
        `  leases ${rate(ourMs)}, ${ourRequests} requests;  time ${ratio.toFixed(3)}×`,
    );
  }
}
console.log(
  failed
    ? `FAILED: more than ${allowed}× the time, or more requests`
    : `within ${allowed}× the time, no more requests`,
);
process.exitCode = failed ? 1 : 0;
