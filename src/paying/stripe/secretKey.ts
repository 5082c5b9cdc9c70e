/** Whether a secret or restricted key moves real money, by its prefix (https://docs.stripe.com/keys). */
export function isLiveKey(key: string): boolean {
  return /^[rs]k_live_/.test(key);
}
