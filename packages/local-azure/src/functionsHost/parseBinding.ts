import type { z } from 'zod';
import type { Binding } from './coreTypes.ts';
import { HostStartError } from './hostStartError.ts';

/** @throws HostStartError naming each member that is wrong */
export function parseBinding<T extends z.ZodType>(schema: T, binding: Binding): z.output<T> {
  const parsed = schema.safeParse(binding);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new HostStartError(`${binding.type}: ${wrong.join('; ')}`);
}
