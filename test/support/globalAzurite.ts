import type { TestProject } from 'vitest/node';
import { startAzurite } from '../../packages/local-azure/src/azurite.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Connection string of the Azurite that all test files share. Use unique names for containers and queues.
     */
    azurite: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const azurite = await startAzurite();
  project.provide('azurite', azurite.connectionString);
  return () => azurite.stop();
}
