import { useEffect } from 'preact/hooks';
import runbook from '../../../docs/operations.md?raw';
import { anchorOf, type Block, readMarkdown, type Span } from '../format/markdown.ts';
import { Page } from '../parts/Page.tsx';

/** The blocks of the runbook, each with the section that it is in. */
const blocks = inSections(
  readMarkdown(runbook).filter((block) => block.kind !== 'heading' || block.level > 1),
);

/** Shows the runbook of the documents, as it was when this release was built. */
export function Runbook() {
  useEffect(() => {
    const id = location.hash.slice(1);
    if (id !== '') document.getElementById(id)?.scrollIntoView();
  }, []);
  return (
    <Page title="Runbook">
      <div class="runbook">
        {blocks.map(({ block, section }, index) => (
          <BlockView key={`${block.kind} ${index}`} block={block} section={section} />
        ))}
      </div>
    </Page>
  );
}

function inSections(all: readonly Block[]): { block: Block; section: string }[] {
  let section = '';
  return all.map((block) => {
    if (block.kind === 'heading') section = block.id;
    return { block, section };
  });
}

function BlockView({ block, section }: { block: Block; section: string }) {
  switch (block.kind) {
    case 'heading':
      return <h2 id={block.id}>{block.text}</h2>;
    case 'paragraph':
      return (
        <p>
          <Spans of={block.spans} />
        </p>
      );
    case 'table':
      return (
        <ul class="entries">
          {block.rows.map((cells) => (
            <li key={textOf(cells[0])} id={`${section}-${anchorOf(textOf(cells[0]))}`}>
              {cells.map((cell, column) => (
                <p key={textOf(block.head[column])}>
                  {column > 0 && <span class="quiet">{textOf(block.head[column])}: </span>}
                  <Spans of={cell} />
                </p>
              ))}
            </li>
          ))}
        </ul>
      );
  }
}

function Spans({ of: spans }: { of: readonly Span[] }) {
  return spans.map(({ kind, text, href = '' }, index) => {
    const key = `${kind} ${index}`;
    if (kind === 'code') return <code key={key}>{text}</code>;
    if (kind === 'strong') return <strong key={key}>{text}</strong>;
    if (kind === 'link' && href.startsWith('#'))
      return (
        <a key={key} href={href}>
          {text}
        </a>
      );
    return text;
  });
}

function textOf(spans: readonly Span[] = []): string {
  return spans.map(({ text }) => text).join('');
}
