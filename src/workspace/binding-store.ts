/**
 * The contract for which workspace a device has (W2).
 *
 * - Every answer is what is stored now: nothing is cached over another process's change.
 * - `bindIfAbsent` is atomic over processes: of two first connections one binds, and both are told the same id.
 * - Damaged bindings are `bindings_damaged`, never an empty map: nothing is written over them.
 */
export interface BindingStore {
  /** Null: the device is not bound. */
  resolve(deviceId: string): Promise<string | null>;
  /** The workspace that the device has after the call; `make` is called only if it had none, and nobody else binds meanwhile. */
  bindIfAbsent(deviceId: string, make: () => Promise<string>): Promise<string>;
  bind(deviceId: string, workspaceId: string): Promise<void>;
  /** False: it was not bound. */
  unbind(deviceId: string): Promise<boolean>;
  /** The devices that were unbound. */
  unbindWorkspace(workspaceId: string): Promise<string[]>;
  list(): Promise<{ deviceId: string; workspaceId: string }[]>;
}
