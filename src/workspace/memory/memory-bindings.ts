/** Keeps bindings in the memory of this process (W2): for tests, and for programs that store devices elsewhere. */
import { checkDeviceId, type DeviceBinding, type BindingStore } from "../binding-store.ts";
import { checkWorkspaceId } from "../workspace-store.ts";
import { OneAtATime } from "./one-at-a-time.ts";

export function memoryBindings(): BindingStore {
  return new MemoryBindings();
}

class MemoryBindings implements BindingStore {
  readonly #bindings = new Map<string, string>();
  readonly #line = new OneAtATime();

  async resolve(deviceId: string): Promise<string | null> {
    checkDeviceId(deviceId);
    return this.#bindings.get(deviceId) ?? null;
  }

  async settle(deviceId: string, choose: (bound: string | null) => Promise<string>): Promise<string> {
    checkDeviceId(deviceId);
    return await this.#line.run("", async () => {
      const chosen = await choose(this.#bindings.get(deviceId) ?? null);
      checkWorkspaceId(chosen);
      this.#bindings.set(deviceId, chosen);
      return chosen;
    });
  }

  async bind(deviceId: string, workspaceId: string): Promise<void> {
    await this.settle(deviceId, () => Promise.resolve(workspaceId));
  }

  async unbind(deviceId: string): Promise<boolean> {
    checkDeviceId(deviceId);
    return await this.#line.run("", () => this.#bindings.delete(deviceId));
  }

  async unbindWorkspace(workspaceId: string): Promise<string[]> {
    checkWorkspaceId(workspaceId);
    return await this.#line.run("", () => {
      const devices = [...this.#bindings].filter(([, bound]) => bound === workspaceId).map(([deviceId]) => deviceId);
      for (const deviceId of devices) this.#bindings.delete(deviceId);
      return devices;
    });
  }

  async list(): Promise<DeviceBinding[]> {
    return [...this.#bindings].map(([deviceId, workspaceId]) => ({ deviceId, workspaceId }));
  }
}
