/**
 * The records' part for devices and the codes that pair them (P3). `claimCode` inserts an API key, so the parts `devices` and
 * `keys` share one database.
 *
 * A driver handles claims of one label one after the other, across processes: every wrong guess costs each open code with the
 * label one try, and a guess after the last try finds nothing.
 */
import type { ApiKey } from "../domain/caller.ts";
import type { PairingCode } from "../domain/device.ts";

export interface DeviceRecords {
  /**
   * Stores the owner of the device if none is stored yet, and returns the stored owner. The first owner stays. Of two
   * processes that register one device at the same time, one succeeds.
   */
  register(device: DeviceOwner): Promise<DeviceOwner>;
  /** Inserts a code, and deletes the codes that expired before it was made. */
  insertCode(code: PairingCode): Promise<void>;
  getCode(id: string): Promise<PairingCode | null>;
  /**
   * Gives a device its token for an open code. A code is open if it was not claimed, has not expired, and has tries left. If no
   * open code with the label has the hash, every open code with the label loses a try. The same claim, with the same
   * code and key, may be made again, and returns the same result. A wrong one costs a try each time, also if it is made again only because
   * its outcome was not known.
   */
  claimCode(claim: PairingClaim): Promise<ClaimResult>;
}

export interface DeviceOwner {
  deviceId: string;
  orgId: string;
  userId: string;
  /** The time of the first use of the id. */
  at: number;
}
export interface PairingClaim {
  /** The label of the code that the user entered, and the hash of the code. */
  label: string;
  hash: string;
  at: number;
  /** The new token. It belongs to the user who made the code, with the role of the code. */
  key: Omit<ApiKey, "orgId" | "userId" | "deviceId" | "roleMax">;
  /** The device gets the first of these ids that belongs to no other user. A former token of that id is revoked. */
  deviceIds: readonly string[];
}
/** The result of a claim. `workspaceId` comes from the code. `refused`: no open code has this hash. */
export type ClaimResult = { outcome: "claimed"; key: ApiKey; workspaceId: string | null } | { outcome: "refused" };
