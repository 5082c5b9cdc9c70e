import { useEffect, useState } from 'preact/hooks';
import type { DemoAction, DemoEvent, DemoState } from '../../local/demo/demoState.ts';

const everyMs = 500;

/** The state of the demo, read twice a second; undefined until the first answer. `away`: there was none to the latest look. */
export function useDemo() {
  const [state, setState] = useState<DemoState>();
  const [away, setAway] = useState(false);

  useEffect(() => {
    let ended = false;
    async function look(): Promise<void> {
      try {
        const read = await readJson<DemoState>('/state');
        if (ended) return;
        setState(read);
        setAway(false);
      } catch {
        setAway(true);
      }
      if (!ended) setTimeout(() => void look(), everyMs);
    }
    void look();
    return () => {
      ended = true;
    };
  }, []);

  const act = async (wanted: DemoAction) => {
    const headers = { 'content-type': 'application/json' };
    setState(await readJson<DemoState>('/act', { method: 'POST', headers, body: JSON.stringify(wanted) }));
  };
  return { state, away, act: (wanted: DemoAction) => void act(wanted).catch(() => setAway(true)) };
}

export function readStory(invoice: string): Promise<DemoEvent[]> {
  return readJson(`/story?invoice=${encodeURIComponent(invoice)}`);
}

/** @throws if the answer is no success */
async function readJson<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(path, init);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
