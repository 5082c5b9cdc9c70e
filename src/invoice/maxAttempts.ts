/** Claims of one invoice that may have charged and ended without a known outcome. After the fifth it is parked. */
export const maxAttempts = 5;
