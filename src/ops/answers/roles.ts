/** The app roles: what somebody who is signed in may do. */
export const roles = ['ops.read', 'ops.write'] as const;
export type Role = (typeof roles)[number];
