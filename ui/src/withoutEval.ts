import { z } from 'zod';

// zod compiles its checks at run time if it may, and tries that when a schema is made. The page's policy forbids it, and
// each try would be reported. So this is imported before any schema.
z.config({ jitless: true });
