import { meaningOf } from '../format/glossary.ts';

/** A word, with its meaning on hover if it is one of the glossary. */
export function Term({ children: word }: { children: string }) {
  const meaning = meaningOf(word);
  return meaning === undefined ? word : <abbr title={meaning}>{word}</abbr>;
}
