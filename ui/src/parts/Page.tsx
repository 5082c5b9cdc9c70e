import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { Session } from '../hooks/session.ts';

/** A page: its title is that of the window, and gets the focus when the page is entered. */
export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { environment } = useContext(Session);
  useEffect(() => {
    document.title = `${title} · ${environment} · payonce`;
  }, [title, environment]);
  useEffect(() => heading.current?.focus(), []);
  return (
    <main id="main">
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </main>
  );
}
