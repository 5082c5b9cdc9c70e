import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lockSessionId } from '../../packages/lock-stores/src/serviceBus/serviceBusLockSession.ts';

/** Writes a Config.json for the Service Bus stand-in, with these queues and their properties. Returns its path. */
export async function queuesFile(folder: string, queues: Record<string, object>): Promise<string> {
  const Queues = Object.entries(queues).map(([Name, Properties]) => ({ Name, Properties }));
  const file = join(folder, 'Config.json');
  await writeFile(file, JSON.stringify({ UserConfig: { Namespaces: [{ Name: 'test', Queues }] } }));
  return file;
}

/** Ends the session of a lock behind its holder's back. */
export async function loseSession({ localAddress }: { localAddress: string }, key: string): Promise<void> {
  const fault = { kind: 'expire-locks', session: lockSessionId(key) };
  const answer = await fetch(`${localAddress}/_local/faults`, {
    method: 'POST',
    body: JSON.stringify(fault),
  });
  if (!answer.ok) throw new Error(await answer.text());
}
