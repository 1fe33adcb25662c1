/**
 * The contract for the store of bindings, which name the workspace of each device (W2).
 *
 * What a driver must do:
 * - Every answer is what is stored now. No cache hides a change of another process.
 * - When a call resolves, its change is stored and survives kill -9. No change of another process is lost (B4).
 * - If the bindings are damaged, every call throws `bindings_damaged`; the store never returns an empty map, and nothing
 *   is written over them. Bindings of a newer version throw `data_newer`.
 * - An invalid id of a workspace throws `workspace_invalid`; an invalid id of a device throws `request_invalid`.
 */

import { deviceIdForm, isDeviceId } from "../domain/device.ts";
import { AptoveError } from "../domain/errors.ts";

export interface BindingStore {
  /** Returns the id of the device's workspace. Null if the device is not bound. */
  resolve(deviceId: string): Promise<string | null>;
  /**
   * Binds the device to the workspace that `choose` returns, and returns its id. `choose` receives the current workspace of
   * the device, or null. No other caller binds or unbinds until its result is stored. So of two first connections, one
   * chooses, and the other receives that choice. `choose` may call no method of this store, because it would wait for itself.
   */
  settle(deviceId: string, choose: (bound: string | null) => Promise<string>): Promise<string>;
  bind(deviceId: string, workspaceId: string): Promise<void>;
  /** Unbinds a device. Returns false if it was not bound. */
  unbind(deviceId: string): Promise<boolean>;
  /** Unbinds all devices of a workspace. Returns their ids. */
  unbindWorkspace(workspaceId: string): Promise<string[]>;
  /** Returns all bindings in any order. */
  list(): Promise<DeviceBinding[]>;
}

export interface DeviceBinding {
  deviceId: string;
  workspaceId: string;
}

/** Throws `request_invalid` if the text is not a valid id of a device. Drivers call it. A device chooses its own id, so the id is never used as a path. */
export function checkDeviceId(text: string): void {
  if (!isDeviceId(text)) throw new AptoveError("request_invalid", `the id of a device must be ${deviceIdForm}`);
}
