import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createGate } from '../crash/gate.ts';
import { startHttpTap } from '../crash/httpTap.ts';
import { watchTakenMessages } from '../crash/takenMessages.ts';
import { endWithProcess } from '../support/endWithProcess.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor } from '../support/localCloud.ts';
import type { SeededRandom } from '../support/seededRandom.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
/** Time that a process has to stop after SIGTERM (ms). */
const graceMs = 45_000;
/** Time from a host's death until what it held of a storage queue becomes visible again (ms). */
const giveBackMs = 5_000;

/** A host that has ended after SIGTERM. */
export interface Stop {
  instance: string;
  code: number | null;
  tookMs: number;
}

export interface Fleet extends AsyncDisposable {
  kill(host: number, awayMs: number): void;
  /** SIGTERM. Resolves once it has ended; undefined if it was away or paused. */
  terminate(host: number, awayMs: number): Promise<Stop | undefined>;
  pause(host: number, pauseMs: number): void;
  /** Calls any host that is up; undefined if none is, or if it does not answer with success. */
  call(path: string, request?: RequestInit): Promise<Response | undefined>;
  /** Resumes paused hosts. Resolves when every host is up. */
  recover(): Promise<void>;
  /** The output of every process, by instance. */
  logs(): Map<string, string[]>;
}

export interface FleetOptions {
  hosts: number;
  env: Readonly<Record<string, string>>;
  random: SeededRandom;
  /** A stopped host may leave messages behind, as one that was killed does: faults keep it from its work. */
  faulty: boolean;
}

type Member =
  | { state: 'up'; host: Host; paused: boolean }
  /** Dead or dying; `back` resolves when its successor is up. */
  | { state: 'away'; back: Promise<void> };

interface Host extends AsyncDisposable {
  instance: string;
  process: HostProcess;
  /** Makes the messages of storage queues visible that the dead host holds. */
  giveBack(): Promise<void>;
}

/**
 * Hosts that can be killed, told to stop and paused; each comes back by itself. A mishap for a host that is already away
 * or paused has no effect.
 */
export async function startFleet(
  cloud: LocalCloud,
  { hosts: size, env, random, faulty }: FleetOptions,
): Promise<Fleet> {
  const logs = new Map<string, string[]>();
  const started = new Map<number, number>();
  const everything: Host[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let ending = false;

  const members: Member[] = await Promise.all(
    Array.from({ length: size }, async (_, index) => up(await start(index))),
  );

  async function start(index: number): Promise<Host> {
    const generation = (started.get(index) ?? 0) + 1;
    started.set(index, generation);
    const host = await startHost(cloud, { ...env, INSTANCE_ID: `host-${index + 1}.${generation}` });
    logs.set(host.instance, host.process.lines);
    everything.push(host);
    return host;
  }

  function up(host: Host): Member {
    return { state: 'up', host, paused: false };
  }

  function end(index: number, signal: 'SIGKILL' | 'SIGTERM', awayMs: number): Promise<Stop> | undefined {
    const member = members[index];
    if (member?.state !== 'up' || member.paused || ending) return undefined;
    const { host } = member;
    const signalled = performance.now();
    host.process.kill(signal);
    const exited = host.process.exited.then((code) => ({
      instance: host.instance,
      code,
      tookMs: performance.now() - signalled,
    }));
    members[index] = { state: 'away', back: comeBack() };
    return exited;

    async function comeBack(): Promise<void> {
      const force = setTimeout(() => host.process.kill('SIGKILL'), graceMs);
      await host.process.exited;
      clearTimeout(force);
      if (signal === 'SIGKILL' || faulty)
        // Ten minutes on the real host; five seconds here.
        void delay(giveBackMs, undefined, { ref: false })
          .then(() => host.giveBack())
          .catch((error: unknown) => console.error('messages of a dead host:', error));
      await delay(awayMs);
      if (!ending) members[index] = up(await start(index));
    }
  }

  const away = () => members.flatMap((member) => (member.state === 'away' ? [member.back] : []));

  return {
    kill: (index, awayMs) => void end(index, 'SIGKILL', awayMs),
    terminate: async (index, awayMs) => end(index, 'SIGTERM', awayMs),
    pause(index, pauseMs) {
      const member = members[index];
      if (member?.state !== 'up' || member.paused || ending) return;
      member.paused = true;
      member.host.process.kill('SIGSTOP');
      const timer = setTimeout(() => {
        timers.delete(timer);
        resume(member);
      }, pauseMs);
      timers.add(timer);
    },
    async call(path, request = {}) {
      const ready = members.flatMap((member) =>
        member.state === 'up' && !member.paused ? [member.host.process.address] : [],
      );
      if (ready.length === 0) return undefined;
      const address = `${random.pick(ready)}/api/ops/${path}`;
      const response = await fetch(address, { ...request, signal: AbortSignal.timeout(10_000) }).catch(
        () => undefined,
      );
      return response?.ok ? response : undefined;
    },
    async recover() {
      for (const member of members) resume(member);
      await Promise.all(away());
    },
    logs: () => logs,
    async [Symbol.asyncDispose]() {
      ending = true;
      for (const timer of timers) clearTimeout(timer);
      for (const host of everything) host.process.kill('SIGKILL');
      await Promise.allSettled(away());
      await Promise.all(everything.map((host) => host[Symbol.asyncDispose]()));
    },
  };
}

function resume(member: Member): void {
  if (member.state !== 'up' || !member.paused) return;
  member.host.process.kill('SIGCONT');
  member.paused = false;
}

/** Starts a host whose storage queues are behind a tap, which knows the messages that it holds. */
async function startHost(
  cloud: LocalCloud,
  env: Readonly<Record<string, string>> & { INSTANCE_ID: string },
): Promise<Host> {
  await using starting = new AsyncDisposableStack();
  const taken = watchTakenMessages(() => true);
  const { origin } = new URL(cloud.queues.url);
  const ignore = () => undefined;
  let dead = false;
  const tap = await startHttpTap({
    target: origin,
    gate: createGate(),
    describe: ignore,
    kill: ignore,
    isDead: () => dead,
    answered: taken.answered,
  });
  starting.defer(() => tap.stop());
  const storage = cloud.storage.replace(origin, `http://127.0.0.1:${tap.port}`);
  const process = starting.use(
    await startHostProcess({
      app,
      args: ['--no-timer-singleton'],
      env: { ...settingsFor({ ...cloud, storage }), ...env },
    }),
  );
  starting.use(endWithProcess(() => process.kill('SIGKILL')));
  const running = starting.move();
  return {
    instance: env.INSTANCE_ID,
    process,
    async giveBack() {
      dead = true;
      await tap.idle();
      await taken.giveBack(cloud.queues);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
