/**
 * The SQL of rules: filters (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-messaging-sql-filter) with their
 * three-valued logic, where undefined is SQL's unknown, and actions
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-messaging-sql-rule-action).
 */
import { FilterError, type MessageView, type SystemField, systemProperty } from './messageView.ts';

export type FilterValue = string | number | boolean;
type Value = FilterValue | undefined;
type Evaluate = (message: MessageView) => Value;

/** A property as SQL names it. */
export type PropertyName = { system: SystemField } | { application: string };

/** One statement of an action. Without a value, the property is removed. */
export interface Change {
  property: PropertyName;
  value: Evaluate;
}

const tokenForms =
  /\s*(?:('(?:[^']|'')*')|(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(@?[A-Za-z_][\w$]*)|(\[(?:[^\]]|\]\])+\]|"(?:[^"]|"")+")|(<>|!=|<=|>=|[=<>+\-*/%(),.;]))/y;

interface Token {
  kind: 'text' | 'number' | 'word' | 'quoted' | 'symbol' | 'end';
  text: string;
}

function tokensOf(sql: string): Token[] {
  const kinds = ['text', 'number', 'word', 'quoted', 'symbol'] as const;
  const tokens: Token[] = [];
  const trimmed = sql.trimEnd();
  tokenForms.lastIndex = 0;
  while (tokenForms.lastIndex < trimmed.length) {
    const at = tokenForms.lastIndex;
    const match = tokenForms.exec(trimmed);
    if (match === null)
      throw new FilterError(
        `the SQL expression cannot be read at "${trimmed.slice(at).trimStart().slice(0, 20)}"`,
      );
    const kind = kinds.find((_, index) => match[index + 1] !== undefined) ?? 'symbol';
    tokens.push({ kind, text: match[kinds.indexOf(kind) + 1] ?? '' });
  }
  return [...tokens, { kind: 'end', text: 'the end' }];
}

type Parameters = Readonly<Record<string, FilterValue>>;

/** @throws {FilterError} for SQL that is malformed, or that this broker does not have */
export function compileSql(sql: string, parameters: Parameters = {}): (message: MessageView) => boolean {
  const whole = parserOf(sql, parameters).condition();
  return (message) => whole(message) === true;
}

/** Statements in their order. @throws {FilterError} like {@link compileSql} */
export function parseChanges(sql: string, parameters: Parameters = {}): Change[] {
  return parserOf(sql, parameters).changes();
}

function parserOf(sql: string, parameters: Parameters): { condition(): Evaluate; changes(): Change[] } {
  const tokens = tokensOf(sql);
  let at = 0;

  const peek = (): Token => tokens[at] ?? { kind: 'end', text: 'the end' };
  const isWord = (word: string) => peek().kind === 'word' && peek().text.toUpperCase() === word;
  const isSymbol = (...symbols: string[]) => peek().kind === 'symbol' && symbols.includes(peek().text);
  const unexpected = () => new FilterError(`the SQL expression is wrong at ${peek().text}: ${sql}`);

  function take(): Token {
    return tokens[at++] ?? peek();
  }
  function takeIf(is: boolean): boolean {
    if (is) at++;
    return is;
  }
  function expectSymbol(symbol: string): void {
    if (!takeIf(isSymbol(symbol))) throw unexpected();
  }

  function disjunction(): Evaluate {
    let left = conjunction();
    while (takeIf(isWord('OR'))) {
      const [a, b] = [left, conjunction()];
      left = (message) => {
        const [x, y] = [a(message), b(message)];
        return x === true || y === true ? true : x === undefined || y === undefined ? undefined : false;
      };
    }
    return left;
  }

  function conjunction(): Evaluate {
    let left = negation();
    while (takeIf(isWord('AND'))) {
      const [a, b] = [left, negation()];
      left = (message) => {
        const [x, y] = [a(message), b(message)];
        return x === false || y === false ? false : x === undefined || y === undefined ? undefined : true;
      };
    }
    return left;
  }

  function negation(): Evaluate {
    if (!takeIf(isWord('NOT'))) return comparison();
    return inverted(negation());
  }

  const inverted =
    (of: Evaluate): Evaluate =>
    (message) => {
      const value = of(message);
      return typeof value === 'boolean' ? !value : undefined;
    };

  function comparison(): Evaluate {
    const left = sum();
    if (isSymbol('=', '<>', '!=', '<', '>', '<=', '>=')) {
      const { text } = take();
      const right = sum();
      return (message) => compare(text, left(message), right(message));
    }
    if (takeIf(isWord('IS'))) {
      const not = takeIf(isWord('NOT'));
      if (!takeIf(isWord('NULL'))) throw unexpected();
      return (message) => (left(message) === undefined) !== not;
    }
    const not = takeIf(isWord('NOT'));
    const positive = isWord('IN') ? inList(left) : isWord('LIKE') ? like(left) : undefined;
    if (positive !== undefined) return not ? inverted(positive) : positive;
    if (not) throw unexpected();
    return left;
  }

  function inList(left: Evaluate): Evaluate {
    take();
    expectSymbol('(');
    const items = [sum()];
    while (takeIf(isSymbol(','))) items.push(sum());
    expectSymbol(')');
    return (message) => {
      const value = left(message);
      if (value === undefined) return undefined;
      return items.some((item) => compare('=', value, item(message)) === true);
    };
  }

  function like(left: Evaluate): Evaluate {
    take();
    const pattern = sum();
    const escaping = takeIf(isWord('ESCAPE')) ? sum() : undefined;
    return (message) => {
      const [value, form] = [left(message), pattern(message)];
      if (typeof value !== 'string' || typeof form !== 'string') return undefined;
      return likePattern(form, escaping?.(message)).test(value);
    };
  }

  function sum(): Evaluate {
    let left = product();
    while (isSymbol('+', '-')) left = arithmetic(take().text, left, product());
    return left;
  }

  function product(): Evaluate {
    let left = operand();
    while (isSymbol('*', '/', '%')) left = arithmetic(take().text, left, operand());
    return left;
  }

  function operand(): Evaluate {
    if (takeIf(isSymbol('-'))) return arithmetic('-', () => 0, operand());
    if (takeIf(isSymbol('+'))) return operand();
    if (takeIf(isSymbol('('))) {
      const inner = disjunction();
      expectSymbol(')');
      return inner;
    }
    const { kind, text } = peek();
    if (kind === 'text') return constant(text.slice(1, -1).replaceAll("''", "'"));
    if (kind === 'number') return constant(Number(text));
    if (kind === 'word' && /^(true|false)$/i.test(text)) return constant(text.toLowerCase() === 'true');
    if (kind === 'word' && text.startsWith('@')) {
      take();
      const value = parameters[text];
      if (value === undefined) throw new FilterError(`the SQL parameter ${text} has no value`);
      return () => value;
    }
    if (takeIf(isWord('EXISTS'))) {
      expectSymbol('(');
      const inner = property();
      expectSymbol(')');
      return (message) => inner(message) !== undefined;
    }
    return property();
  }

  function constant(value: FilterValue): Evaluate {
    take();
    return () => value;
  }

  function property(): Evaluate {
    const read = propertyName();
    return (message) =>
      'system' in read ? message.system(read.system) : message.application(read.application);
  }

  function propertyName(): PropertyName {
    const first = name();
    if (isSymbol('(')) throw new FilterError(`the SQL function ${first} is not supported here`);
    if (!takeIf(isSymbol('.'))) return { application: first };
    const second = name();
    if (first.toLowerCase() === 'user') return { application: second };
    if (first.toLowerCase() !== 'sys')
      throw new FilterError(`there is no SQL scope ${first}, only sys and user`);
    return { system: systemProperty(second) };
  }

  function name(): string {
    const { kind, text } = peek();
    if (kind !== 'word' && kind !== 'quoted') throw unexpected();
    take();
    return kind === 'word' ? text : text.slice(1, -1).replaceAll(']]', ']').replaceAll('""', '"');
  }

  function change(): Change {
    const sets = takeIf(isWord('SET'));
    if (!sets && !takeIf(isWord('REMOVE'))) throw unexpected();
    const written = propertyName();
    if (sets) expectSymbol('=');
    const value = sets ? sum() : () => undefined;
    takeIf(isSymbol(';'));
    return { property: written, value };
  }

  return {
    condition() {
      const whole = disjunction();
      if (peek().kind !== 'end') throw unexpected();
      return whole;
    },
    changes() {
      const statements = [change()];
      while (peek().kind !== 'end') statements.push(change());
      return statements;
    },
  };
}

function compare(operator: string, a: Value, b: Value): boolean | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (operator === '=') return a === b;
  if (operator === '<>' || operator === '!=') return a !== b;
  if (typeof a !== typeof b || typeof a === 'boolean') return undefined;
  switch (operator) {
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    default:
      return a >= b;
  }
}

function arithmetic(operator: string, left: Evaluate, right: Evaluate): Evaluate {
  return (message) => {
    const [a, b] = [left(message), right(message)];
    if (operator === '+' && typeof a === 'string' && typeof b === 'string') return a + b;
    if (typeof a !== 'number' || typeof b !== 'number') return undefined;
    if (operator === '+') return a + b;
    if (operator === '-') return a - b;
    if (operator === '*') return a * b;
    return operator === '/' ? a / b : a % b;
  };
}

function likePattern(pattern: string, escaping: Value): RegExp {
  let form = '';
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (character === escaping) form += RegExp.escape(characters[++at] ?? '');
    else if (character === '%') form += '.*';
    else if (character === '_') form += '.';
    else form += RegExp.escape(character);
  }
  return new RegExp(`^${form}$`, 's');
}
