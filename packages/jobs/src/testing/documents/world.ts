import type { Create, DocumentStore, Patch, Replace } from '../../documents/documentStore.ts';
import type { DocumentsSubject } from './subject.ts';

/** The partition that the tests use, unless they say otherwise. */
export const shard = '00';

/** A store with a single document, `a`. */
export async function stored(
  { open }: DocumentsSubject,
  document: object,
): Promise<{ documents: DocumentStore }> {
  const { documents } = await open();
  await documents.transact(shard, [creation({ id: 'a', ...document })]);
  return { documents };
}

export function creation(document: { id: string } & Record<string, unknown>): Create {
  return { kind: 'create', document: { shard, ...document } as Create['document'] };
}

/** Puts a document with this content in the place of `id`. */
export function replace(id: string, version: string, content: Record<string, unknown>): Replace {
  return { kind: 'replace', document: { id, shard, ...content } as Replace['document'], version };
}

export function patch(id: string, change: Partial<Patch>): Patch {
  return { ...change, kind: 'patch', id };
}

export function fields(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, n]));
}

export async function storedVersion(documents: DocumentStore): Promise<string> {
  const [document] = (await documents.read(shard, ['a'])) as { _etag: string }[];
  return document?._etag ?? '';
}

export function ids(documents: readonly unknown[]): string[] {
  return documents.map((document) => (document as { id: string }).id).toSorted();
}
