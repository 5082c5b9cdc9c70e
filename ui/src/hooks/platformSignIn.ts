import { useEffect, useState } from 'preact/hooks';

/** Address of the platform's sign-in (https://learn.microsoft.com/azure/app-service/configure-authentication-customize-sign-in-out). */
export const platformSignIn = '/.auth/login/aad';

/** True if the platform signs people in: only then does the address lead somewhere. `/.auth/me` would need the token store. */
export function usePlatformSignIn(): boolean {
  const [offered, setOffered] = useState(false);
  useEffect(() => {
    const asked = fetch(platformSignIn, { redirect: 'manual' });
    asked.then(({ type }) => setOffered(type === 'opaqueredirect')).catch(() => {});
  }, []);
  return offered;
}
