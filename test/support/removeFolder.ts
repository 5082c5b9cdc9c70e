import { rm } from 'node:fs/promises';

/**
 * Removes a folder, if it is there, with all that is in it. Windows refuses that for a moment after the end of a process
 * that had a file of it open.
 */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
