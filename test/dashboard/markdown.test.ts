import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readMarkdown } from '../../ui/src/format/markdown.ts';
import { runbookEntries } from '../support/runbookEntries.ts';

describe('the runbook in the dashboard', () => {
  test('headings, paragraphs and tables, with code, strong text and links', () => {
    const text = [
      '## Alerts and more',
      'Take `GET ops/health`,',
      '**never** [this](deploy.md#alerts).',
      '',
      '| alert | do |',
      '| --- | --- |',
      '| `due-unpaid` | nothing |',
    ].join('\n');
    expect(readMarkdown(text)).toEqual([
      { kind: 'heading', level: 2, text: 'Alerts and more', id: 'alerts-and-more' },
      {
        kind: 'paragraph',
        spans: [
          { kind: 'text', text: 'Take ' },
          { kind: 'code', text: 'GET ops/health' },
          { kind: 'text', text: ', ' },
          { kind: 'strong', text: 'never' },
          { kind: 'text', text: ' ' },
          { kind: 'link', text: 'this', href: 'deploy.md#alerts' },
          { kind: 'text', text: '.' },
        ],
      },
      {
        kind: 'table',
        head: [[{ kind: 'text', text: 'alert' }], [{ kind: 'text', text: 'do' }]],
        rows: [[[{ kind: 'code', text: 'due-unpaid' }], [{ kind: 'text', text: 'nothing' }]]],
      },
    ]);
  });

  test('every link of the banner leads to an entry of it', () => {
    const entries = runbookEntries();
    const banner = readFileSync('ui/src/parts/AttentionList.tsx', 'utf8');
    const linked = [...banner.matchAll(/runbook: '([^']+)'/g)].map(([, id]) => id);
    expect(linked.length).toBeGreaterThan(5);
    expect(linked.filter((id) => !entries.has(id ?? ''))).toEqual([]);
  });
});
