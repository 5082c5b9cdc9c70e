import { useEffect, useState } from 'preact/hooks';

const said = new EventTarget();
const shownMs = 8_000;

/** Tells what an action has come to; screen readers read it out. */
export function announce(text: string): void {
  said.dispatchEvent(new CustomEvent('said', { detail: text }));
}

/** The one place where results are told. */
export function Announcements() {
  const [text, setText] = useState('');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (event: Event) => {
      clearTimeout(timer);
      setText(event instanceof CustomEvent ? String(event.detail) : '');
      timer = setTimeout(() => setText(''), shownMs);
    };
    said.addEventListener('said', show);
    return () => {
      clearTimeout(timer);
      said.removeEventListener('said', show);
    };
  }, []);
  return (
    <div class="announcements" role="status">
      {text !== '' && <p>{text}</p>}
    </div>
  );
}
