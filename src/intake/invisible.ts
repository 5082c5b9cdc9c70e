/**
 * Characters that nobody sees, and spaces that look like others. Two ids that differ in nothing else look the same, in a
 * list as in a mail to a customer (https://www.unicode.org/reports/tr36/).
 */
const invisible = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/** The names of those that turn up in data (https://www.unicode.org/Public/UCD/latest/ucd/UnicodeData.txt). */
const names: Readonly<Record<string, string>> = {
  '\u00a0': 'no-break space',
  '\u00ad': 'soft hyphen',
  '\u034f': 'combining grapheme joiner',
  '\u061c': 'Arabic letter mark',
  '\u115f': 'Hangul choseong filler',
  '\u1160': 'Hangul jungseong filler',
  '\u180e': 'Mongolian vowel separator',
  '\u2002': 'en space',
  '\u2003': 'em space',
  '\u2007': 'figure space',
  '\u2009': 'thin space',
  '\u200a': 'hair space',
  '\u200b': 'zero width space',
  '\u200c': 'zero width non-joiner',
  '\u200d': 'zero width joiner',
  '\u200e': 'left-to-right mark',
  '\u200f': 'right-to-left mark',
  '\u2028': 'line separator',
  '\u2029': 'paragraph separator',
  '\u202a': 'left-to-right embedding',
  '\u202b': 'right-to-left embedding',
  '\u202c': 'pop directional formatting',
  '\u202d': 'left-to-right override',
  '\u202e': 'right-to-left override',
  '\u202f': 'narrow no-break space',
  '\u205f': 'medium mathematical space',
  '\u2060': 'word joiner',
  '\u2066': 'left-to-right isolate',
  '\u2067': 'right-to-left isolate',
  '\u2068': 'first strong isolate',
  '\u2069': 'pop directional isolate',
  '\u3000': 'ideographic space',
  '\u3164': 'Hangul filler',
  '\ufe0f': 'variation selector 16',
  '\ufeff': 'zero width no-break space (byte order mark)',
  '\uffa0': 'halfwidth Hangul filler',
};

/** What is wrong with an id that has a character nobody sees; `undefined` if it has none. */
export function invisibleError(id: string): string | undefined {
  const found = invisible.exec(id);
  if (found === null) return undefined;
  const [character] = found;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const name = names[character] === undefined ? '' : ` ${names[character]}`;
  const place = Array.from(id.slice(0, found.index)).length + 1;
  return `expected no invisible character, not U+${code}${name} at character ${place}`;
}
