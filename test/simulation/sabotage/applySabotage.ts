import { registerHooks } from 'node:module';
import { edited } from '../../guards/edits.ts';
import type { Sabotage } from './sabotages.ts';

const project = new URL('../../../', import.meta.url);

/** From now on the files that a sabotage changes are loaded with the change, in this process only. */
export function applySabotage({ name, edits }: Sabotage): void {
  const byUrl = Map.groupBy(edits, ({ file }) => new URL(file, project).href);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = byUrl.get(url);
      if (own === undefined) return loaded;
      const text =
        typeof loaded.source === 'string'
          ? loaded.source
          : Buffer.from(loaded.source as Uint8Array).toString();
      try {
        return { ...loaded, source: edited(text, own) };
      } catch (cause) {
        throw new Error(`"${name}" does not fit ${own[0]?.file}`, { cause });
      }
    },
  });
}
