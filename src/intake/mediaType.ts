import { MIMEType } from 'node:util';

/** Type and subtype in lower case. Empty if there is none, or if the character set is not UTF-8. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  try {
    const { essence, params } = new MIMEType(contentType ?? '');
    return ['utf-8', 'utf8', 'us-ascii'].includes(params.get('charset')?.toLowerCase() ?? 'utf-8')
      ? essence
      : '';
  } catch {
    return '';
  }
}
