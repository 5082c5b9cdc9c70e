/**
 * Text that people can tell apart by looking. Ids that look the same are read as the same, in a list as in a mail to a
 * customer (https://www.unicode.org/reports/tr39/).
 */

/** Characters that nobody sees, and spaces that look like others. */
const invisible = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/** Alphabets that have letters of the same shape. */
const alphabets = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Cherokee'] as const;
const letterOf = alphabets.map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const);

/** Letters of Cyrillic and Greek, each above the Latin one that has its shape. */
const shapes = {
  from: 'АВЕЅІЈКМНОРСТУХаеіјорсухѕԁԛԝһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυϲϳ',
  to: 'ABESIJKMHOPCTYXaeijopcyxsdqwhlABEZHIKMNOPTYXavopucj',
};
const latin = new Map(Array.from(shapes.from, (letter, place) => [letter, shapes.to.charAt(place)]));

/** True if there are no control characters but line breaks and tabs, and no lone surrogates. */
export function isPlainText(text: string): boolean {
  return !/[^\P{Cc}\n\r\t]/u.test(text) && text.isWellFormed();
}

/** True if somebody who looks at it sees a character. */
export function hasVisible(text: string): boolean {
  return /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]/u.test(text);
}

/** Why an id could be taken for another one; undefined if it could not. */
export function lookAlikeError(id: string): string | undefined {
  if (/^[ -~]*$/.test(id)) return undefined;
  const found = invisible.exec(id);
  if (found !== null) {
    const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const place = Array.from(id.slice(0, found.index)).length + 1;
    return `expected no invisible character, not U+${code} at character ${place}`;
  }
  if (id !== id.normalize('NFC'))
    return `expected composed characters (NFC): ${JSON.stringify(id.normalize('NFC'))}`;
  const mixed = letterOf.flatMap(([name, letter]) => (letter.test(id) ? [name] : []));
  if (mixed.length > 1) return `expected letters of one alphabet, not ${mixed.join(' and ')}`;
  const other = Array.from(id, asciiOf).join('');
  return /^[ -~]*$/.test(other) ? `expected another id: it looks like ${JSON.stringify(other)}` : undefined;
}

/** The ASCII character of the same shape, or itself. */
function asciiOf(character: string): string {
  if (/\p{Pd}|\u2212/u.test(character)) return '-';
  const plain = character.normalize('NFKC');
  return latin.get(character) ?? (/^[!-~]$/.test(plain) ? plain : character);
}
