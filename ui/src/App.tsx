import { useCallback, useEffect, useState } from 'preact/hooks';
import type { MeAnswer } from '../../src/ops/answers/overviewAnswers.ts';
import { CallFailed } from './api/call.ts';
import { api } from './api/requests.ts';
import { Header } from './Header.tsx';
import { Live } from './hooks/live.ts';
import { Session } from './hooks/session.ts';
import { SignIn } from './pages/SignIn.tsx';
import { Announcements } from './parts/Announcements.tsx';
import { Failure } from './parts/Failure.tsx';
import { StateBanner } from './parts/StateBanner.tsx';
import { Routes } from './Routes.tsx';
import { signedOut } from './signedOut.ts';

type State =
  | { kind: 'asking' }
  | { kind: 'signedOut'; why: string }
  | { kind: 'failed'; error: unknown }
  | { kind: 'signedIn'; me: MeAnswer };

/** The page, once it is known who uses it. */
export function App() {
  const [state, setState] = useState<State>({ kind: 'asking' });
  const [live, setLive] = useState(true);

  const enter = useCallback(async () => {
    try {
      setState({ kind: 'signedIn', me: await api.me() });
    } catch (error) {
      setState(
        error instanceof CallFailed && error.status === 401
          ? { kind: 'signedOut', why: '' }
          : { kind: 'failed', error },
      );
    }
  }, []);
  useEffect(() => void enter(), [enter]);
  useEffect(() => signedOut((why) => setState({ kind: 'signedOut', why })), []);

  switch (state.kind) {
    case 'asking':
      return null;
    case 'signedOut':
      return <SignIn enter={enter} why={state.why} />;
    case 'failed':
      return (
        <main>
          <h1>payonce</h1>
          <Failure error={state.error} retry={() => void enter()} />
        </main>
      );
    case 'signedIn':
      return (
        <Session.Provider value={state.me}>
          <Live.Provider value={live}>
            <a class="skip" href="#main">
              Skip to the page
            </a>
            <Header live={live} setLive={setLive} />
            <StateBanner>
              <Routes />
            </StateBanner>
            <Announcements />
          </Live.Provider>
        </Session.Provider>
      );
  }
}
