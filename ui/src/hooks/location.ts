import { useEffect, useState } from 'preact/hooks';
import { pageBase } from '../api/base.ts';

/** The view that the URL names: a path like `/invoices/INV-1`, and the filters of its query. */
export interface Place {
  path: string;
  query: URLSearchParams;
}

const moved = new EventTarget();

export function here(): Place {
  const path = location.pathname.slice(pageBase.length).replace(/\/+$/, '');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) };
}

/** The address of a view. */
export function addressOf(path: string): string {
  return pageBase + (path.startsWith('/?') ? path.slice(1) : path === '/' ? '' : path);
}

/** Goes to another view; `replace` for one that is no step of its own, like a filter being typed. */
export function go(
  path: string,
  { replace = false, state = null }: { replace?: boolean; state?: unknown } = {},
): void {
  if (replace) history.replaceState(state, '', addressOf(path));
  else history.pushState(state, '', addressOf(path));
  moved.dispatchEvent(new Event('moved'));
}

/** The present view; renders again whenever it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace(here());
    moved.addEventListener('moved', update);
    addEventListener('popstate', update);
    return () => {
      moved.removeEventListener('moved', update);
      removeEventListener('popstate', update);
    };
  }, []);
  return place;
}

/** Follows plain clicks on links to other views without loading the page again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link?.target !== '' || link.origin !== location.origin) return;
  // A place on the same page: the browser goes there.
  if (link.pathname === location.pathname && link.hash !== '') return;
  if (link.pathname !== pageBase && !link.pathname.startsWith(`${pageBase}/`)) return;
  event.preventDefault();
  go(link.pathname.slice(pageBase.length) + link.search + link.hash);
}

/** The same view with other filters. A filter without a value leaves the URL. */
export function withFilters({ path, query }: Place, changes: Record<string, string | undefined>): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}
