/*
 * Empty pages on demand. The service may send one although more follow, and may send a continuation behind which nothing is
 * (https://github.com/Azure/azure-sdk-for-python/issues/32343, https://github.com/Azure/azure-cosmos-dotnet-v2/issues/741).
 */
export const emptyPages = ['empty-page', 'trailing-empty-page'] as const;
export type EmptyPage = (typeof emptyPages)[number];

const againPrefix = 'again:';
/** The continuation of a last page that says there is more. */
export const nothingBehind = 'end:';

/** The continuation of an empty page: it leads to the page that was asked for. */
export const pageAgain = (given: string | undefined) => `${againPrefix}${given ?? ''}`;

/** The continuation that a page was asked for with. Undefined: the first. */
export function askedFor(given: string | undefined): string | undefined {
  const asked = given?.startsWith(againPrefix) === true ? given.slice(againPrefix.length) : given;
  return asked === '' ? undefined : asked;
}
