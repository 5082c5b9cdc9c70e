import { useState } from 'preact/hooks';
import { CallFailed } from '../api/call.ts';
import { keepKey, keepName, readName } from '../api/key.ts';
import { api } from '../api/requests.ts';
import { platformSignIn, usePlatformSignIn } from '../hooks/platformSignIn.ts';
import { failureText } from '../parts/Failure.tsx';

/** Asks for the function key, tries it, and then shows the view that the URL names. */
export function SignIn({ enter, why }: { enter: () => Promise<void>; why: string }) {
  const [key, setKey] = useState('');
  const [name, setName] = useState(readName);
  const [failure, setFailure] = useState('');
  const told = failure === '' ? why : failure;
  const platform = usePlatformSignIn();
  // The platform answers before the app does, and looks at no key.
  const refusal = platform
    ? 'Sign in with Microsoft first: until then every call is refused, whatever the key. If you have, this key is wrong.'
    : 'The app does not accept this key.';

  async function tryKey(): Promise<void> {
    keepKey(key.trim());
    keepName(name.trim());
    try {
      await api.me();
      await enter();
    } catch (error) {
      keepKey(undefined);
      const refused = error instanceof CallFailed && error.status === 401;
      setFailure(refused ? refusal : failureText(error));
    }
  }

  return (
    <main class="sign-in">
      <h1>payonce</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void tryKey();
        }}
      >
        <label class="field">
          Function key
          <input
            type="password"
            value={key}
            required
            autocomplete="off"
            aria-describedby="key-help"
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p id="key-help" class="quiet">
          It is kept until you close this tab, is given to new tabs of this browser, and is sent to this app
          only.
        </p>
        <label class="field">
          Your name
          <input
            value={name}
            maxLength={80}
            autocomplete="name"
            aria-describedby="name-help"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <p id="name-help" class="quiet">
          A key does not say who holds it: the audit trail has this name as your word, until you forget the
          key.
        </p>
        {told !== '' && (
          <p class="wrong" role="alert">
            {told}
          </p>
        )}
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      {platform && (
        <p>
          This app also wants to know who you are.{' '}
          <a
            href={`${platformSignIn}?post_login_redirect_uri=${encodeURIComponent(location.pathname + location.search)}`}
          >
            Sign in with Microsoft
          </a>
        </p>
      )}
    </main>
  );
}
