import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Deviation, Skippable } from '../../packages/jobs/src/testing/documents/subject.ts';

/** True if contract tests run against the emulators in compose.yaml instead of the stand-ins. */
export const official = process.env.PAYONCE_TEST_CLOUD === 'official';

const emulatorIssues = 'https://github.com/Azure/azure-cosmos-db-emulator-docker/issues';
/** Known or reported errors of the official Cosmos DB emulator, each with the number of its issue there. */
const issueOf: Record<Deviation, number> = {
  conditions: 232,
  staleVersions: 302,
  races: 303,
  halfBatches: 319,
};

/** Connection strings. local.settings.json has the addresses of the emulators in compose.yaml. */
export function officialAddresses(): { storage: string; cosmos: string; serviceBus: string } {
  const values = z.object({ AzureWebJobsStorage: z.string(), Cosmos: z.string(), ServiceBus: z.string() });
  const text = readFileSync(new URL('../../local.settings.json', import.meta.url), 'utf8');
  const { Values } = z.object({ Values: values }).parse(JSON.parse(text));
  return { storage: Values.AzureWebJobsStorage, cosmos: Values.Cosmos, serviceBus: Values.ServiceBus };
}

/**
 * A test that the official Cosmos DB emulator is expected to fail. If it fails there, it is skipped with a link to
 * the issue, so a red job is always news. `onEmulator`: whether this run uses the emulator.
 */
export function deviates(deviation: Deviation, body: () => Promise<void>, onEmulator = official) {
  return async (context: Skippable) => {
    try {
      await body();
    } catch (error) {
      if (!onEmulator) throw error;
      context.skip(`known: ${emulatorIssues}/${issueOf[deviation]}`);
    }
  };
}
