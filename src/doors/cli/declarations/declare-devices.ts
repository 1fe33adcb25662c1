/** Declares the commands under `aptove device` (P3). */
import type { Command } from "commander";
import type { PairOptions } from "../commands/devices.ts";
import type { RunCommand } from "./declaring.ts";

export function addDeviceCommands(device: Command, run: RunCommand): void {
  const commands = () => import("../commands/devices.ts");
  device
    .command("pair")
    .description("show a code, by which a phone or another machine gets a token of its own")
    .option("--url <address>", "address under which the device reaches the server, where that is another")
    .option("--workspace <id>", "let the device share this workspace, and the conversation in it")
    .option("--no-wait", "do not wait until the device has come")
    .action((options: PairOptions) => run(async (call) => (await commands()).pairDevice(call, options)));
  device
    .command("list")
    .description("the devices that may come in")
    .action(() => run(async (call) => (await commands()).listDevices(call)));
  device
    .command("revoke")
    .description("make a device's token worthless, and close what it has open")
    .argument("<device>", "its id, the id that it calls itself, or its name")
    .action((text: string) => run(async (call) => (await commands()).revokeDevice(call, text)));
}
