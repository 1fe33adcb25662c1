/** Devices and their pairing codes in requests and responses (P3). A token is shown only once, to its device. */
import * as z from "zod";
import { deviceIdForm, isDeviceId, type Device, type Pairing } from "../domain/device.ts";
import { isoTime } from "../domain/ids.ts";
import { isoTimeOrNull } from "./session.ts";
import { columnText, idSchema, timeSchema } from "./values.ts";

const device = z
  .object({
    id: idSchema.describe("The id for revoking the device."),
    deviceId: z.string().describe("The id that the device chose for itself. Its workspace is bound to this id."),
    userId: z.string(),
    name: z.string(),
    createdAt: timeSchema,
    lastUsedAt: timeSchema.nullable(),
  })
  .meta({ id: "Device" });
export type WireDevice = z.infer<typeof device>;

export const deviceListSchema = z.object({ devices: z.array(device) }).meta({ id: "DeviceList" });

export const pairingStartSchema = z
  .strictObject({
    workspaceId: z
      .string()
      .optional()
      .describe(
        "A workspace that the device shares, including its conversation. If absent: the device gets its own workspace.",
      ),
  })
  .meta({ id: "PairingStart" });
export type WirePairingStart = z.input<typeof pairingStartSchema>;

export const pairingCodeSchema = z
  .object({ id: idSchema, code: z.string().describe("Never shown again."), expiresAt: timeSchema })
  .meta({ id: "PairingCode" });
export type WirePairingCode = z.infer<typeof pairingCodeSchema>;

export const pairingSchema = z
  .object({
    id: idSchema,
    state: z.enum(["open", "claimed", "ended"]),
    expiresAt: timeSchema,
    device: device.nullable().describe("The device that claimed the code; null for a code that was not claimed."),
  })
  .meta({ id: "Pairing" });
export type WirePairing = z.infer<typeof pairingSchema>;

export const pairingClaimSchema = z
  .strictObject({
    code: z.string().max(64).describe("The code as it is shown. Upper and lower case, dashes and spaces are ignored."),
    name: columnText().min(1).describe("The name that the user sees in the list of devices."),
    deviceId: z
      .string()
      .refine(isDeviceId, `is not ${deviceIdForm}`)
      .optional()
      .describe(
        "The id that the device chooses for itself. If it belongs to another user, the server makes a new one.",
      ),
  })
  .meta({ id: "PairingClaim" });
export type WirePairingClaim = z.input<typeof pairingClaimSchema>;

export const pairedDeviceSchema = z
  .object({ device, token: z.string().describe("An API key for this device only. It is never shown again.") })
  .meta({ id: "PairedDevice" });
export type WirePairedDevice = z.infer<typeof pairedDeviceSchema>;

export function toWireDevice({ id: of, deviceId, userId, name, createdAt, lastUsedAt }: Device): WireDevice {
  const times = { createdAt: isoTime(createdAt), lastUsedAt: isoTimeOrNull(lastUsedAt) };
  return { id: of, deviceId, userId, name, ...times };
}

export function toWirePairing(of: Pairing): WirePairing {
  const { id: code, state, expiresAt } = of;
  return { id: code, state, expiresAt: isoTime(expiresAt), device: of.device && toWireDevice(of.device) };
}
