import type { ComponentChildren } from 'preact';
import { addressOf } from '../hooks/location.ts';

interface LinkProps {
  to: string;
  children: ComponentChildren;
  class?: string;
  'aria-current'?: 'page';
}

/** A link to another view. */
export function Link({ to, children, ...rest }: LinkProps) {
  return (
    <a href={addressOf(to)} {...rest}>
      {children}
    </a>
  );
}

/** The page of a customer. */
export function customerPath(customer: string): string {
  return `/customers/${encodeURIComponent(customer)}`;
}

export function invoicePath(id: string): string {
  return `/invoices/${encodeURIComponent(id)}`;
}
