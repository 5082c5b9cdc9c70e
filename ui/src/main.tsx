import './withoutEval.ts';
import { render } from 'preact';
import { askOtherTabs, shareKey } from './api/key.ts';
import { App } from './App.tsx';
import { followLinks } from './hooks/location.ts';
import { tellSignedOut } from './signedOut.ts';
import './style.css';

await askOtherTabs();
shareKey(() => tellSignedOut('The key was forgotten in another tab.'));
document.addEventListener('click', followLinks);
const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
render(<App />, root);
