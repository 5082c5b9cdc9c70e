import { isNewer } from '../documents/storedDocuments.ts';
import { afresh, itemsOf } from './workItem.ts';

/**
 * What a message asks for, as text: the same for all its copies, whatever they tell of earlier tries. A message of a newer
 * release is taken as it is. Pure.
 */
export function workOf(message: unknown): string {
  const items = itemsOf(message);
  if (items !== undefined) return JSON.stringify(items.map(workOf));
  const text = JSON.stringify(message);
  return isNewer(message) ? text : afresh(text);
}
