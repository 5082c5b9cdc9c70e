import { registerHooks } from 'node:module';
import { edited, sourcesOf } from '../../guards/edits.ts';
import type { Sabotage } from './sabotages.ts';

const project = new URL('../../../', import.meta.url);

/** From now on the files that a sabotage changes are loaded with the change, in this process only. */
export function applySabotage({ name, edits }: Sabotage): void {
  let changed: ReturnType<typeof edited>;
  try {
    changed = edited(sourcesOf(), edits);
  } catch (cause) {
    throw new Error(`"${name}" does not fit the app`, { cause });
  }
  const byUrl = new Map(changed.map(({ file, text }) => [new URL(file, project).href, text]));
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const source = byUrl.get(url);
      return source === undefined ? loaded : { ...loaded, source };
    },
  });
}
