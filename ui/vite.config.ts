import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/api/ops/ui/',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../dist/ui', import.meta.url)),
    emptyOutDir: true,
    // One script and one style: an old page never asks for a chunk that a deployment has removed.
    assetsInlineLimit: 0,
    // Fixed names: infra/ lists what may be loaded without a sign-in.
    rolldownOptions: {
      output: { entryFileNames: 'assets/index.js', assetFileNames: 'assets/index[extname]' },
    },
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
