/** An expression of a query. */
export type Expression =
  | { kind: 'value'; value: string | number | boolean | null }
  | { kind: 'name'; name: string }
  | { kind: 'member'; of: Expression; name: string }
  | { kind: 'call'; name: string; arguments: Expression[] }
  | { kind: 'operator'; operator: string; left: Expression; right: Expression }
  | { kind: 'in'; value: Expression; options: Expression[] };

/** An expression and the column that it becomes. */
export interface Column {
  name: string;
  expression: Expression;
}

/** One step of a query. */
export type Step =
  | { kind: 'where'; condition: Expression }
  | { kind: 'extend'; columns: Column[] }
  | { kind: 'summarize'; columns: Column[]; by: Column[] }
  | { kind: 'order'; by: string };

export interface Query {
  table: string;
  steps: Step[];
}

const tokenPattern =
  /\s*("(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?[smhd]?\b|[A-Za-z_]\w*|==|!has\b|!=|<=|>=|[-<>=+*/(),.|])/y;
/** Operators by how tightly they bind, loosest first. */
const levels = [
  ['or'],
  ['and'],
  ['==', '!=', '<', '>', '<=', '>=', 'startswith', '!has'],
  ['+', '-'],
  ['*', '/'],
];
const millisecondsOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Parses the part of the Kusto query language that the alerts use
 * (https://learn.microsoft.com/kusto/query/). A time span becomes its milliseconds. @throws on anything else
 */
export function parseKql(text: string): Query {
  const tokens = tokensOf(text);
  let at = 0;
  const peek = () => tokens[at] ?? '';
  const next = () => tokens[at++] ?? '';
  const take = (token: string) => {
    if (peek() !== token) throw new Error(`expected ${token}, got "${peek()}" in: ${text}`);
    at++;
  };

  const query: Query = { table: next(), steps: [] };
  while (peek() === '|') {
    at++;
    query.steps.push(step(next()));
  }
  if (at < tokens.length) throw new Error(`unexpected "${peek()}" in: ${text}`);
  return query;

  function step(operator: string): Step {
    switch (operator) {
      case 'where':
        return { kind: 'where', condition: expression() };
      case 'extend':
        return { kind: 'extend', columns: columns() };
      case 'summarize': {
        const summed = columns();
        if (peek() !== 'by') return { kind: 'summarize', columns: summed, by: [] };
        at++;
        return { kind: 'summarize', columns: summed, by: columns() };
      }
      case 'order': {
        take('by');
        const by = next();
        take('asc');
        return { kind: 'order', by };
      }
      default:
        throw new Error(`no operator "${operator}" here: ${text}`);
    }
  }

  function columns(): Column[] {
    const all: Column[] = [];
    do {
      if (all.length > 0) at++;
      const named = tokens[at + 1] === '=';
      const name = named ? next() : '';
      if (named) take('=');
      const parsed = expression();
      all.push({
        name: name || (parsed.kind === 'name' ? parsed.name : implied(parsed)),
        expression: parsed,
      });
    } while (peek() === ',');
    return all;
  }

  function expression(level = 0): Expression {
    const operators = levels[level];
    if (operators === undefined) return primary();
    let left = expression(level + 1);
    for (;;) {
      if (level === 2 && peek() === 'in') {
        at++;
        left = { kind: 'in', value: left, options: list() };
      } else if (operators.includes(peek())) {
        left = { kind: 'operator', operator: next(), left, right: expression(level + 1) };
      } else return left;
    }
  }

  function list(): Expression[] {
    take('(');
    const all: Expression[] = [];
    while (peek() !== ')') {
      all.push(expression());
      if (peek() === ',') at++;
    }
    take(')');
    return all;
  }

  function primary(): Expression {
    if (peek() === '(') {
      const [inner, ...more] = list();
      if (inner === undefined || more.length > 0) throw new Error(`expected one expression in: ${text}`);
      return inner;
    }
    const token = next();
    if (token.startsWith('"')) return { kind: 'value', value: String(JSON.parse(token)) };
    if (token === 'true' || token === 'false') return { kind: 'value', value: token === 'true' };
    const number = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(token);
    if (number !== null) {
      const [, digits, unit] = number;
      return {
        kind: 'value',
        value: Number(digits) * (unit === undefined ? 1 : millisecondsOf[unit as 's']),
      };
    }
    let parsed: Expression =
      peek() === '(' ? { kind: 'call', name: token, arguments: list() } : { kind: 'name', name: token };
    while (peek() === '.') {
      at++;
      parsed = { kind: 'member', of: parsed, name: next() };
    }
    return parsed;
  }
}

/** The name that Kusto gives a column that has none: that of a function's last argument, which is all that is used here. */
function implied(expression: Expression): string {
  return expression.kind === 'call' ? expression.name : 'column';
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < end) {
    const from = tokenPattern.lastIndex;
    const [, token] = tokenPattern.exec(text) ?? [];
    if (token === undefined) throw new Error(`cannot read "${text.slice(from, from + 20)}" in: ${text}`);
    tokens.push(token);
  }
  return tokens;
}
