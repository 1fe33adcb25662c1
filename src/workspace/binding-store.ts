/**
 * The contract for which workspace each device has (W2).
 *
 * What a driver must do:
 * - Every answer is what is stored now: nothing is cached over another process's change.
 * - What a call has written is there when it resolves, and survives kill -9; no change of another process is lost (B4).
 * - Damaged bindings are `bindings_damaged` for every call, never an empty map: nothing is written over them. Those of
 *   a newer version are `data_newer`.
 * - What is not the id of a workspace is `workspace_invalid`; what cannot name a device is `request_invalid`.
 */

import { deviceIdForm, isDeviceId } from "../domain/device.ts";
import { AptoveError } from "../domain/errors.ts";

export interface BindingStore {
  /** Null: the device is not bound. */
  resolve(deviceId: string): Promise<string | null>;
  /**
   * Binds the device to what `choose` says, and gives it. `choose` is told what the device has now, null for nothing;
   * until it has answered, and that is stored, nobody else binds or unbinds. So of two first connections one chooses,
   * and the other is told what that one chose. It may call no method of this store: that would wait for it.
   */
  settle(deviceId: string, choose: (bound: string | null) => Promise<string>): Promise<string>;
  bind(deviceId: string, workspaceId: string): Promise<void>;
  /** False: it was not bound. */
  unbind(deviceId: string): Promise<boolean>;
  /** The devices that were unbound. */
  unbindWorkspace(workspaceId: string): Promise<string[]>;
  /** In any order. */
  list(): Promise<Binding[]>;
}

export interface Binding {
  deviceId: string;
  workspaceId: string;
}

/** For drivers: throws `request_invalid` for what cannot name a device. A device chooses its id, so it is never a path. */
export function checkDeviceId(text: string): void {
  if (!isDeviceId(text)) throw new AptoveError("request_invalid", `the id of a device must be ${deviceIdForm}`);
}
