import { registerHooks } from 'node:module';
import type { Sabotage } from './sabotages.ts';

const project = new URL('../../../', import.meta.url);

/** The text of a file with the edits in it. Pure. @throws {Error} if the text of an edit is not in it exactly once */
export function edited(text: string, edits: readonly Omit<Sabotage['edits'][number], 'file'>[]): string {
  return edits.reduce((before, { from, to }) => {
    const found = before.split(from).length - 1;
    if (found !== 1) throw new Error(`"${from}" occurs ${found} times`);
    return before.replace(from, () => to);
  }, text);
}

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
