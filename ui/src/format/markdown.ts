/** A piece of running text. */
export interface Span {
  kind: 'text' | 'code' | 'strong' | 'link';
  text: string;
  /** Of a link. */
  href?: string;
}

export type Block =
  | { kind: 'heading'; level: number; text: string; id: string }
  | { kind: 'paragraph'; spans: Span[] }
  | { kind: 'table'; head: Span[][]; rows: Span[][][] };

/**
 * Reads the part of Markdown that the runbook is written in: headings, paragraphs and tables, with code, strong text and
 * links. Anything else is shown as it is written. Pure.
 */
export function readMarkdown(text: string): Block[] {
  return text
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => blocksOf(part));
}

function blocksOf(part: string): Block[] {
  const [first = '', ...rest] = part.split('\n');
  const heading = /^(#{1,6}) (.+)$/.exec(first);
  if (heading !== null) {
    const [, marks = '', text = ''] = heading;
    const block: Block = { kind: 'heading', level: marks.length, text, id: anchorOf(text) };
    return rest.length === 0 ? [block] : [block, ...blocksOf(rest.join('\n'))];
  }
  if (first.startsWith('|')) {
    const rows = [first, ...rest].map(cellsOf);
    return [{ kind: 'table', head: rows[0] ?? [], rows: rows.slice(2) }];
  }
  return [{ kind: 'paragraph', spans: spansOf(part.replaceAll('\n', ' ')) }];
}

function cellsOf(line: string): Span[][] {
  return line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => spansOf(cell.trim()));
}

function spansOf(text: string): Span[] {
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)/g;
  const spans: Span[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) spans.push({ kind: 'text', text: text.slice(end, match.index) });
    const [whole, code, strong, link, href = ''] = match;
    if (code !== undefined) spans.push({ kind: 'code', text: code });
    else if (strong !== undefined) spans.push({ kind: 'strong', text: strong });
    else if (link !== undefined) spans.push({ kind: 'link', text: link.replaceAll('`', ''), href });
    end = match.index + whole.length;
  }
  if (end < text.length) spans.push({ kind: 'text', text: text.slice(end) });
  return spans;
}

/** As GitHub names the section of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
