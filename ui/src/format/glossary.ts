import glossary from '../../../docs/glossary.md?raw';
import { readMarkdown } from './markdown.ts';

const meanings: ReadonlyMap<string, string> = new Map(
  readMarkdown(glossary)
    .flatMap((block) => (block.kind === 'table' ? block.rows : []))
    .map(([word = [], meaning = []]) => [textOf(word), textOf(meaning)]),
);

function textOf(spans: readonly { text: string }[]): string {
  return spans.map(({ text }) => text).join('');
}

/** The meaning of a word or of its plural, from the glossary of the documents; undefined if it has none there. Pure. */
export function meaningOf(word: string): string | undefined {
  const plain = word.toLowerCase();
  return meanings.get(plain) ?? meanings.get(plain.replace(/s$/, ''));
}
