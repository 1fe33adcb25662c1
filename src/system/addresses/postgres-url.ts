/** Adapts the address of a PostgreSQL database in the form that `psql` accepts. */

/** Returns the address with the usual meaning of `sslmode`: `require` only encrypts, `verify-ca` and `verify-full` also check the server's certificate. */
export function asLibpq(url: string): string {
  if (!/[?&]sslmode=/.test(url) || /[?&](?:uselibpqcompat=|sslmode=no-verify)/.test(url)) return url;
  return `${url}&uselibpqcompat=true`;
}
