/** Who is asking. It comes from authentication, never from a request's body (S3). */
export interface Caller {
  orgId: string;
  userId: string;
  role: Role;
  /** The device whose token it is that the caller came with; absent: another key, or none (P3). */
  deviceId?: string;
}

export type Role = "admin" | "member" | "reader";

/** A person (or a program) of an organisation. */
export interface User {
  id: string;
  orgId: string;
  name: string;
  role: Role;
  createdAt: number;
}

/** An API key as it is stored: the secret itself is never kept, only its SHA-256 (H4). */
export interface ApiKey {
  id: string;
  orgId: string;
  userId: string;
  name: string;
  /** The first characters of the secret, to tell keys apart in a list. */
  prefix: string;
  hash: string;
  /** Null: it is not the token of a device (P3). */
  deviceId: string | null;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
}
