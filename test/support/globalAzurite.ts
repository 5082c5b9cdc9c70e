import type { TestProject } from 'vitest/node';
import { startAzurite } from '../../local/azurite.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection string of the one Azurite that all test files share: use names of your own for containers and queues. */
    azurite: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const azurite = await startAzurite();
  project.provide('azurite', azurite.connectionString);
  return () => azurite.stop();
}
