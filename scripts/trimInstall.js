// Removes from node_modules, after an installation, what nothing here loads: source maps, headers for compilers, builds for browsers.
import { globSync, rmSync } from 'node:fs';

const needless = [
  'node_modules/**/*.map',
  'node_modules/node/node_modules/*/include',
  'node_modules/@{azure,typespec}/**/dist/{browser,react-native}',
  'node_modules/@opentelemetry/*/build/esnext',
  'node_modules/playwright-core/lib/vite',
];

for (const path of globSync(needless)) rmSync(path, { recursive: true, force: true });
