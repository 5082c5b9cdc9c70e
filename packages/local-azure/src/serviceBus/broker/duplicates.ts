/**
 * The message ids of the last `windowMs` milliseconds. The window starts at the first message with an id; a
 * dropped duplicate does not extend it
 * (https://learn.microsoft.com/azure/service-bus-messaging/duplicate-detection).
 */
export class DuplicateHistory {
  readonly #windowMs: number;
  /** Message id → time first seen, oldest first. */
  readonly #seenAt = new Map<string, number>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get size(): number {
    return this.#seenAt.size;
  }

  /** Records an id. False if it is already in the window. */
  remember(messageId: string, now: number): boolean {
    this.forgetOlder(now);
    if (this.#seenAt.has(messageId)) return false;
    this.#seenAt.set(messageId, now);
    return true;
  }

  forgetOlder(now: number): void {
    for (const [messageId, at] of this.#seenAt) {
      if (at + this.#windowMs > now) return;
      this.#seenAt.delete(messageId);
    }
  }
}
