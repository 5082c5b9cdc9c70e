import { rm } from 'node:fs/promises';

/**
 * Removes a folder and its contents, if it exists. Retries, because Windows refuses for a moment after the
 * exit of a process that had one of the files open.
 */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
