/** Mutants of decisions: small changes of a source file that a test should notice. */
import { parseSync } from 'vite';

export interface Mutant {
  file: string;
  /** Of the place that is changed, from 1. */
  line: number;
  /** The code there, and what takes its place. */
  from: string;
  to: string;
  start: number;
  end: number;
}

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

const operators: Readonly<Record<string, string>> = {
  '&&': '||',
  '||': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};

/** All mutants of a file, in the order of their places. Pure. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const found: Mutant[] = [];
  visit(program);
  return found.toSorted((one, other) => one.start - other.start);

  function add({ start, end }: Pick<Node, 'start' | 'end'>, to: string): void {
    const line = text.slice(0, start).split('\n').length;
    found.push({ file, line, from: text.slice(start, end), to, start, end });
  }

  function source({ start, end }: Node): string {
    return text.slice(start, end);
  }

  function visit(value: unknown): void {
    if (Array.isArray(value)) {
      for (const one of value) visit(one);
      return;
    }
    if (!isNode(value) || value.type.startsWith('TS') || value.type === 'ImportDeclaration') return;
    mutate(value);
    for (const child of Object.values(value)) visit(child);
  }

  function mutate(node: Node): void {
    const { operator, left, right, test, consequent, alternate, argument, expression } = node;
    switch (node.type) {
      case 'LogicalExpression':
      case 'BinaryExpression': {
        if (!isNode(left) || !isNode(right) || typeof operator !== 'string') return;
        if (operator === '??') add(node, source(left));
        const other = operators[operator];
        // Between its sides, which may be in brackets.
        const place = text.indexOf(operator, left.end);
        if (other !== undefined && place < right.start)
          add({ start: place, end: place + operator.length }, other);
        return;
      }
      case 'IfStatement':
        if (isNode(test)) add(test, `!(${source(test)})`);
        return;
      case 'ConditionalExpression':
        if (isNode(consequent) && isNode(alternate) && isNode(test))
          add(node, `${source(test)} ? ${source(alternate)} : ${source(consequent)}`);
        return;
      case 'UnaryExpression':
        if (operator === '!' && isNode(argument)) add(node, source(argument));
        return;
      case 'Literal':
        if (typeof node.value === 'boolean') add(node, String(!node.value));
        return;
      case 'ExpressionStatement':
        if (isNode(expression) && expression.type !== 'Literal') add(node, '');
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
}
