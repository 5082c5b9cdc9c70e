/**
 * Breaks the rules of the leases on purpose, one at a time, in a copy of the project, and checks that a test
 * of that rule fails. Run `node packages/leases/test/sabotages.ts`; it exits with 1 if a sabotage goes unnoticed. One whose test
 * is skipped, because its server is not installed, is left out by name.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { projectCopy, vitest } from '../../../test/guards/projectCopy.ts';

interface Sabotage {
  name: string;
  file: string;
  from: string;
  to: string;
  /** The test file, and the beginning of the title of a test in it that must fail. */
  tests: string;
  caughtBy: string;
}

const sabotages: Sabotage[] = [
  {
    name: 'clock from the response instead of the request, on renewal',
    file: 'packages/leases/src/holdLease.ts',
    from: 'afterRenewal(tenure, outcome, { sentAt, now }, setting)',
    to: 'afterRenewal(tenure, outcome, { sentAt: now, now }, setting)',
    tests: 'packages/leases/test/lease.test.ts',
    caughtBy: 'a slow renewal extends trust from when it was sent',
  },
  {
    name: 'clock from the response instead of the request, on acquire',
    file: 'packages/leases/src/locks.ts',
    from: "if (answer === 'acquired') {",
    to: "if (answer === 'acquired') {\n        sentAt = clock.monotonic();",
    tests: 'packages/leases/test/acquire.test.ts',
    caughtBy: 'trust counts from when the acquire was sent',
  },
  {
    name: 'a late success revives the lease',
    file: 'packages/leases/src/renewal.ts',
    from: 'if (late >= 0) {',
    to: 'if (late >= Number.POSITIVE_INFINITY) {',
    tests: 'packages/leases/test/lease.test.ts',
    caughtBy: 'a late success revives nothing',
  },
  {
    name: 'a renewal error counts as lost',
    file: 'packages/leases/src/renewal.ts',
    from: 'if (at.now >= tenure.giveUpAt)',
    to: 'if (at.now >= 0)',
    tests: 'packages/leases/test/lease.test.ts',
    caughtBy: 'a renewal error is not a loss',
  },
  {
    name: 'no margin',
    file: 'packages/leases/src/tenure.ts',
    from: 'return sentAt + timing.leaseMs - timing.marginMs;',
    to: 'return sentAt + timing.leaseMs;',
    tests: 'packages/leases/test/model/schedules.test.ts',
    caughtBy: 'no schedule of',
  },
  {
    name: 'fence not checked by the store in the model',
    file: 'packages/leases/test/model/fencedRegister.ts',
    from: "if (fence < (seen ?? 0)) return 'fencedOut';",
    to: '',
    tests: 'packages/leases/test/model/schedules.test.ts',
    caughtBy: 'no schedule of',
  },
  {
    name: 'fence not checked by the claim transaction',
    file: 'packages/jobs/src/claims/fence.ts',
    from: "where: [{ path: 'fence', is: '<=', value: token }],",
    to: '',
    tests: 'test/claiming/claimBatch.test.ts',
    caughtBy: 'a smaller fence token than the store has seen is refused',
  },
  {
    name: 'nobody listens when a connection ends',
    file: 'packages/leases/src/holdLease.ts',
    from: '    compareClock();\n    lose(why);',
    to: '    compareClock();',
    tests: 'packages/leases/test/lease.test.ts',
    caughtBy: 'is believed at once',
  },
  {
    name: 'fences by the clock of the holder',
    file: 'packages/leases/src/locks.ts',
    from: 'now ?? since',
    to: 'since',
    tests: 'packages/leases/test/acquire.test.ts',
    caughtBy: 'goes by the clock of the store',
  },
  {
    name: 'a leader leaves with the error of a timer',
    file: 'packages/leases/src/leasedWork.ts',
    from: 'if (lease.lost === undefined) throw error;',
    to: "if (lease.lost === undefined || (error instanceof Error && error.name === 'AbortError')) throw error;",
    tests: 'packages/leases/test/forms.test.ts',
    caughtBy: 'is elected again after a loss',
  },
  {
    name: 'release before the renewal in flight has ended',
    file: 'packages/leases/src/holdLease.ts',
    from: '    await keeping;\n    try {',
    to: '    try {',
    tests: 'packages/leases/test/lease.test.ts',
    caughtBy: 'waits for the renewal in flight',
  },
  {
    name: 'lease id not compared',
    file: 'packages/leases/src/blobLockStore.ts',
    from: "if (renewed.leaseId === leaseId) return 'renewed';",
    to: "if (renewed.leaseId !== undefined) return 'renewed';",
    tests: 'packages/leases/test/blob/contract.test.ts',
    caughtBy: 'an expired lease is free for others, and its old id no longer works',
  },
  {
    name: 'Redis: a renewal that does not compare the lease',
    file: 'packages/lock-stores/src/redis/redisScripts.ts',
    from: "if holder == ARGV[1] then\n  redis.call('PEXPIRE'",
    to: "if holder then\n  redis.call('PEXPIRE'",
    tests: 'packages/lock-stores/test/redis/contract.test.ts',
    caughtBy: 'is refused to another id',
  },
  {
    name: 'Redis: a record written under an old version',
    file: 'packages/lock-stores/src/redis/redisScripts.ts',
    from: "if version ~= ARGV[2] then return 'changed' end\nredis.call('HSET'",
    to: "redis.call('HSET'",
    tests: 'packages/lock-stores/test/redis/contract.test.ts',
    caughtBy: 'is refused for an old version, even under the right lease',
  },
  {
    name: 'SQL rows: a lock that is taken although another lease runs',
    file: 'packages/lock-stores/src/sql/rowLockStore.ts',
    from: 'or lease_id = ?)`,',
    to: 'or ends_at is not null or lease_id = ?)`,',
    tests: 'packages/lock-stores/test/postgres/contract.test.ts',
    caughtBy: 'one lease gets it, another does not',
  },
  {
    name: 'SQL rows: a lease that has run out can be renewed',
    file: 'packages/lock-stores/src/sql/rowLockStore.ts',
    from: 'const ours = `id = ? and lease_id = ? and',
    to: 'const ours = `id = ? and lease_id = ?`; void `',
    tests: 'packages/lock-stores/test/postgres/contract.test.ts',
    caughtBy: 'an expired lease is free for others, and its old id no longer works',
  },
  {
    name: 'etcd: a renewal that no majority has confirmed',
    file: 'packages/lock-stores/src/etcd/etcdLockStore.ts',
    from: '        const answer = await member.txn({ success: keys.get });\n        const lock',
    to: "        if (kept) return 'renewed';\n        const answer = await member.txn({ success: keys.get });\n        const lock",
    tests: 'packages/lock-stores/test/etcd/hazards.test.ts',
    caughtBy: 'an old leader answers keepalives of a lease that has ended',
  },
  {
    name: 'etcd: a renewal across a change of leader',
    file: 'packages/lock-stores/src/etcd/etcdLockStore.ts',
    from: "if (term !== answer.term) throw new Error('etcd changed its leader during the renewal');",
    to: '',
    tests: 'packages/lock-stores/test/etcd/hazards.test.ts',
    caughtBy: 'a renewal is not trusted if the leader changed',
  },
  {
    name: 'ZooKeeper: a renewal on the old connection',
    file: 'packages/lock-stores/src/zooKeeper/leaseSessions.ts',
    from: 'if (tenure === undefined || !(await restart(session, signal))) return false;',
    to: 'if (tenure === undefined || !(await connect(session, signal))) return false;',
    tests: 'packages/lock-stores/test/zooKeeper/hazards.test.ts',
    caughtBy: 'a follower that dies forgets requests on its connections',
  },
  {
    name: 'ZooKeeper: any lease node is taken for the own one',
    file: 'packages/lock-stores/src/zooKeeper/lockNodes.ts',
    from: 'return [check(lease), check(tenure, since)];',
    to: 'return [check(lease), ...(since < 0 ? [check(tenure)] : [])];',
    tests: 'packages/lock-stores/test/zooKeeper/hazards.test.ts',
    caughtBy: 'a session that lives proves nothing once somebody deleted its node',
  },
  {
    name: 'ZooKeeper: an acquire without an answer gives up the lock',
    file: 'packages/lock-stores/src/zooKeeper/leaseSessions.ts',
    from: 'if (seen?.lease?.ephemeralOwner === last.connection.session.id) took(last, tenure?.version);',
    to: 'if (seen === undefined) took(last, tenure?.version);',
    tests: 'packages/lock-stores/test/zooKeeper/lostAnswers.test.ts',
    caughtBy: 'does not free a lock that the lease had with another length',
  },
  {
    name: 'quorum: one member is enough to acquire',
    file: 'packages/lock-stores/src/quorum/quorumDecisions.ts',
    from: "if (acquired >= majority) return 'acquired';",
    to: "if (acquired >= 1) return 'acquired';",
    tests: 'packages/lock-stores/test/quorum/schedules.test.ts',
    caughtBy: 'no schedule',
  },
  {
    name: 'quorum: one member is enough to renew',
    file: 'packages/lock-stores/src/quorum/quorumDecisions.ts',
    from: "if (count(ballot, is('renewed')) >= majority) return 'renewed';",
    to: "if (count(ballot, is('renewed')) >= 1) return 'renewed';",
    tests: 'packages/lock-stores/test/quorum/quorumDecisions.test.ts',
    caughtBy: 'renew [',
  },
];

const testResult = z.object({ title: z.string(), status: z.string() });
const report = z.object({ testResults: z.array(z.object({ assertionResults: z.array(testResult) })) });

/** Tests that ran in `dir`, or were skipped because their server is not installed. */
function testsIn(dir: string, tests: string): z.infer<typeof testResult>[] {
  const output = join(dir, 'report.json');
  const run = spawnSync(
    process.execPath,
    [vitest, 'run', tests, '--config', 'vitest.full.config.ts', '--reporter=json', `--outputFile=${output}`],
    {
      cwd: dir,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      timeout: 180_000,
    },
  );
  const { testResults } = report.parse(JSON.parse(readFileSync(output, 'utf8')));
  rmSync(output);
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (all.length === 0) throw new Error(`no test ran: ${run.stderr}`);
  return all;
}

await using made = await projectCopy();
const { path: copy } = made;
let unnoticed = 0;
let leftOut = 0;
for (const { name, file, from, to, tests, caughtBy } of sabotages) {
  const path = join(copy, file);
  const whole = readFileSync(path, 'utf8');
  if (whole.split(from).length !== 2) throw new Error(`${name}: expected its line exactly once in ${file}`);
  writeFileSync(path, whole.replace(from, to));
  const all = testsIn(copy, tests);
  writeFileSync(path, whole);
  if (all.every(({ status }) => status === 'skipped')) {
    leftOut++;
    console.log(`left out   ${name}: ${all.map(({ title }) => title).join('; ')}`);
    continue;
  }
  const failed = all.filter(({ status }) => status === 'failed').map(({ title }) => title);
  const caught = failed.some((title) => title.startsWith(caughtBy));
  if (!caught) unnoticed++;
  console.log(
    `${caught ? 'caught   ' : 'UNNOTICED'}  ${name}\n           by: ${failed.join('; ') || 'no test'}`,
  );
}
const tried = sabotages.length - leftOut;
console.log(
  `${tried - unnoticed} of ${tried} sabotages caught${leftOut === 0 ? '' : `, ${leftOut} left out`}`,
);
process.exitCode = unnoticed === 0 ? 0 : 1;
