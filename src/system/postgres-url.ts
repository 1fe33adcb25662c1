/** The address of a PostgreSQL database, as people write it for `psql`. */

/** `sslmode` means what it means everywhere else: `require` encrypts, `verify-ca` and `verify-full` also look whom they talk to. */
export function asLibpq(url: string): string {
  if (!/[?&]sslmode=/.test(url) || /[?&](?:uselibpqcompat=|sslmode=no-verify)/.test(url)) return url;
  return `${url}&uselibpqcompat=true`;
}
