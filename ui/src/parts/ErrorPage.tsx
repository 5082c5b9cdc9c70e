import { Component, type ComponentChildren } from 'preact';
import { failureText } from './Failure.tsx';

/** Shows what went wrong in place of a page that cannot be shown. The header stays, and leads out. */
export class ErrorPage extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: undefined as unknown };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <main id="main">
        <h1 tabIndex={-1}>This page cannot be shown</h1>
        <p role="alert">{failureText(error)}</p>
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </main>
    );
  }
}
