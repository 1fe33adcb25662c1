/** The limits of keys, devices, browsers, users and the audit log. */
export const peopleLimits = {
  /** P3, U2: the lifetime of a pairing code, and the wrong guesses that it allows; those of a page's code and of a sign-in. */
  pairingCodeMs: 300_000,
  pairingTriesMax: 5,
  signInCodeMs: 3_600_000,
  browserSignInMs: 2_592_000_000,
  /** U2: a sign-in at the identity provider. It is short, because only a new one shows whether the provider still knows the person. */
  identitySignInMs: 86_400_000,
  /** How soon an open connection learns, without a wake-up, that another process revoked its key. */
  keyPollMs: 500,
  /** H4: the length of a token of an identity provider, and the tolerance for its clock. */
  bearerCharactersMax: 8_192,
  bearerClockToleranceMs: 30_000,
  /** The keys of an identity provider: the time to wait for them, their size, and the pause after a failure. */
  identityMs: 5_000,
  identityBytesMax: 1_048_576,
  identityRestMs: 5_000,
  devicesListedMax: 1_000,
  participantsPerSessionMax: 100,
  /** The lifetime of an entry of the audit log, how often old entries are deleted, and how many at once. */
  auditRetentionDays: 365,
  auditDropMs: 3_600_000,
  auditDroppedMax: 1_000,
} as const;
