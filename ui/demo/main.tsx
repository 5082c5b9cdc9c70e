import { render } from 'preact';
import { DemoPage } from './DemoPage.tsx';
import '../src/style.css';
import './demo.css';

const root = document.getElementById('app');
if (root === null) throw new Error('index.html has no element "app"');
render(<DemoPage />, root);
