/** Names of turns in requests and responses (U5). */
import * as z from "zod";
import { limits } from "../../domain/limits.ts";
import type { TurnName } from "../../domain/turn-name.ts";
import { columnText, idSchema } from "../values.ts";

export const turnNameSchema = z.object({ turnId: idSchema, name: z.string() }).meta({ id: "TurnName" });
export type WireTurnName = z.infer<typeof turnNameSchema>;

export const turnNamesSchema = z
  .object({ names: z.array(turnNameSchema).describe("The first turn first.") })
  .meta({ id: "TurnNames" });

export const turnNamingSchema = z
  .strictObject({
    name: columnText()
      .min(1)
      .max(limits.turnNameCharactersMax)
      .nullable()
      .describe("The name, which becomes one line. Null: the turn has no name any more."),
  })
  .meta({ id: "TurnNaming" });

export const turnNameParamsSchema = z.strictObject({ id: idSchema, turnId: idSchema });

export function toWireTurnNames(names: readonly TurnName[]): z.infer<typeof turnNamesSchema> {
  return { names: names.map(({ turnId, name }) => ({ turnId, name })) };
}
