import { useEffect, useState } from 'preact/hooks';

/**
 * Whether the platform signs people in: only then is there anything at this address
 * (https://learn.microsoft.com/azure/app-service/configure-authentication-customize-sign-in-out).
 */
export function usePlatformSignIn(): boolean {
  const [offered, setOffered] = useState(false);
  useEffect(() => {
    const asked = fetch('/.auth/me', { redirect: 'manual' });
    asked.then(({ status, type }) => setOffered(type === 'opaqueredirect' || status !== 404)).catch(() => {});
  }, []);
  return offered;
}
