import type { Span } from './errors.ts';

export type UnaryOperator = 'not' | '-' | '+' | '~';
export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '<<' | '>>' | '>>>';
export type BinaryOperator = ComparisonOperator | ArithmeticOperator | 'and' | 'or' | '||' | '??';

export type Expression =
  | { kind: 'undefined' }
  | { kind: 'literal'; value: null | boolean | number | string }
  | { kind: 'parameter'; name: string; at: Span }
  | { kind: 'name'; name: string; at: Span }
  | { kind: 'property'; of: Expression; key: Expression; at: Span }
  | { kind: 'array'; items: Expression[] }
  | { kind: 'object'; fields: { name: string; value: Expression }[] }
  | { kind: 'unary'; operator: UnaryOperator; of: Expression }
  | { kind: 'binary'; operator: BinaryOperator; left: Expression; right: Expression }
  | { kind: 'between'; of: Expression; low: Expression; high: Expression }
  | { kind: 'in'; of: Expression; list: Expression[] }
  | { kind: 'like'; of: Expression; pattern: Expression; escape: Expression | undefined }
  | { kind: 'conditional'; condition: Expression; whenTrue: Expression; otherwise: Expression }
  | { kind: 'call'; name: string; args: Expression[]; at: Span }
  | { kind: 'exists' | 'arrayOf' | 'scalar'; query: Query };

export type Projection =
  | { kind: 'star'; at: Span }
  | { kind: 'value'; of: Expression }
  | { kind: 'list'; items: { of: Expression; alias: string | undefined }[]; at: Span };

/** `FROM c.items AS i` yields the value itself, `FROM i IN c.items` its elements. */
export type Source = {
  kind: 'value' | 'elements';
  of: Expression | { kind: 'subquery'; query: Query };
  alias: string | undefined;
  at: Span;
};

export type SortKey = { of: Expression; descending: boolean; at: Span };

export type Query = {
  distinct: boolean;
  top: Expression | undefined;
  projection: Projection;
  sources: Source[];
  where: Expression | undefined;
  groupBy: Expression[];
  orderBy: SortKey[];
  offset: Expression | undefined;
  limit: Expression | undefined;
  at: Span;
};
