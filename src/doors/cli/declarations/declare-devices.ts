/** Declares the commands under `aptove device` (P3). */
import type { Command } from "commander";
import type { PairOptions } from "../commands/devices.ts";
import { createsFolder, type RunCommand } from "./declaring.ts";

export function addDeviceCommands(device: Command, run: RunCommand): void {
  const commands = () => import("../commands/devices.ts");
  device
    .command("pair")
    .description("show a code that gives a phone or another machine its own token")
    .option("--url <address>", "address at which the device reaches the server, if it is another one")
    .option("--workspace <id>", "give the device this workspace and its conversation")
    .option("--no-wait", "do not wait until the device has connected")
    .action((options: PairOptions) => run(async (call) => (await commands()).pairDevice(call, options), createsFolder));
  device
    .command("list")
    .description("list the paired devices")
    .action(() => run(async (call) => (await commands()).listDevices(call)));
  device
    .command("revoke")
    .description("revoke a device's token and close its connections")
    .argument("<device>", "the device (its id, the id that it gave itself, or its name)")
    .action((text: string) => run(async (call) => (await commands()).revokeDevice(call, text)));
}
