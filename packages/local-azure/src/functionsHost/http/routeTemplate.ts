import { HostStartError } from '../hostStartError.ts';
import { type Constraint, constraint } from './routeConstraints.ts';

/** Rank of a segment when several routes match a path, lowest first (ASP.NET Core, RoutePrecedence). */
const rank = { literal: 1, constrained: 2, parameter: 3, constrainedRest: 4, rest: 5 } as const;

interface Parameter {
  name: string;
  constraints: Constraint[];
  optional: boolean;
  fallback: string | undefined;
  catchAll: boolean;
}

export interface RouteTemplate {
  /** One rank per segment, for compareRoutes. */
  precedence: number[];
  /** The route parameters of `path` (without query), or undefined if it does not match. */
  match(path: string): Record<string, string> | undefined;
}

/**
 * Parses an ASP.NET Core route template: `orders/{id:int}/{part?}`, `{name=all}`, `{*path}`,
 * `v{major}.{minor}`. Literals match case-insensitively.
 * @throws HostStartError if the template is malformed or a constraint unknown
 */
export function parseRoute(template: string): RouteTemplate {
  const parameters: Parameter[] = [];
  const precedence: number[] = [];
  let pattern = '^';
  for (const segment of splitSegments(template)) {
    const parts = splitParts(segment);
    const [only] = parts;
    if (parts.length === 1 && typeof only === 'object') {
      parameters.push(only);
      precedence.push(rankOf(only));
      if (only.catchAll) pattern += '(?:/(.*))?';
      else pattern += only.optional ? '(?:/([^/]+))?' : '/([^/]+)';
      continue;
    }
    precedence.push(parts.every((part) => typeof part === 'string') ? rank.literal : rank.constrained);
    pattern += '/';
    for (const part of parts) {
      if (typeof part === 'string') pattern += RegExp.escape(encodeURI(part));
      else {
        if (part.catchAll)
          throw new HostStartError(`route "${template}": a catch-all must be a whole segment`);
        parameters.push(part);
        pattern += '([^/]+?)';
      }
    }
  }
  const regExp = new RegExp(`${pattern}/?$`, 'i');

  return {
    precedence,
    match(path) {
      const found = regExp.exec(path);
      if (found === null) return undefined;
      const values: Record<string, string> = {};
      for (const [index, { name, constraints, fallback }] of parameters.entries()) {
        const raw = found[index + 1];
        const value = raw === undefined || raw === '' ? fallback : decode(raw);
        if (value === undefined) continue;
        if (!constraints.every((accepts) => accepts(value))) return undefined;
        values[name] = value;
      }
      return values;
    },
  };
}

/** Order in which routes are tried: literals, constrained parameters, plain parameters, catch-alls. */
export function compareRoutes(a: RouteTemplate, b: RouteTemplate): number {
  for (let i = 0; i < Math.max(a.precedence.length, b.precedence.length); i++) {
    const difference = (a.precedence[i] ?? 0) - (b.precedence[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rankOf({ catchAll, constraints }: Parameter): number {
  if (catchAll) return constraints.length > 0 ? rank.constrainedRest : rank.rest;
  return constraints.length > 0 ? rank.constrained : rank.parameter;
}

/** Splits at slashes outside braces. */
function splitSegments(template: string): string[] {
  const segments: string[] = [];
  let depth = 0;
  let current = '';
  for (const char of template.replace(/^~?\/+|\/+$/g, '')) {
    if (char === '{') depth++;
    if (char === '}') depth--;
    if (char === '/' && depth === 0) {
      segments.push(current);
      current = '';
    } else current += char;
  }
  if (depth !== 0) throw new HostStartError(`route "${template}": unbalanced braces`);
  return current === '' && segments.length === 0 ? [] : [...segments, current];
}

/** Literals and parameters of one segment. Inside a parameter, `{{` and `}}` stand for a single brace. */
function splitParts(segment: string): (string | Parameter)[] {
  const parts: (string | Parameter)[] = [];
  for (const match of segment.matchAll(/\{((?:[^{}]|\{\{|\}\})+)\}|[^{}]+/g)) {
    const inner = match[1];
    parts.push(
      inner === undefined ? match[0] : parseParameter(inner.replaceAll('{{', '{').replaceAll('}}', '}')),
    );
  }
  return parts;
}

function parseParameter(text: string): Parameter {
  const match = /^(\*{0,2})([\w-]+)((?::\w+(?:\(.*?\)(?=[:=?]|$))?)*)(\?|=.*)?$/s.exec(text);
  if (match === null) throw new HostStartError(`malformed route parameter {${text}}`);
  const [, stars = '', name = '', constraints = '', end = ''] = match;
  return {
    name,
    catchAll: stars !== '',
    optional: end !== '',
    fallback: end.startsWith('=') ? end.slice(1) : undefined,
    constraints: [...constraints.matchAll(/:(\w+)(?:\((.*?)\)(?=[:=?]|$))?/gs)].map(
      ([, kind = '', argument]) => constraint(kind, argument),
    ),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
