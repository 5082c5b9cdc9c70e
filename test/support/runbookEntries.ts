import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchorOf, readMarkdown } from '../../ui/src/format/markdown.ts';
import { root } from '../infra/sources.ts';

/** The anchors of the runbook as the dashboard shows it: a section, and the first cell of a row. */
export function runbookEntries(): Set<string> {
  const entries = new Set<string>();
  let section = '';
  for (const block of readMarkdown(readFileSync(join(root, 'docs/operations.md'), 'utf8'))) {
    if (block.kind === 'heading') section = block.id;
    if (block.kind !== 'table') continue;
    for (const [first = []] of block.rows)
      entries.add(`${section}-${anchorOf(first.map(({ text }) => text).join(''))}`);
  }
  return entries;
}
