/** Checks what a program gives of a user (H4, Y1): a role that is none would be stored. */
import { AptoveError } from "../../domain/errors.ts";
import { checkFields, invalid, isFlag, isText, oneOf, orNull, type FieldForm } from "../../domain/given-fields.ts";
import { isRecord } from "../../system/guards.ts";
import type { People, UserChange } from "../engine.ts";

const fields = {
  name: isText,
  email: orNull(isText),
  externalId: orNull(isText),
  role: oneOf("admin", "member", "reader"),
  disabled: isFlag,
} satisfies Record<keyof Required<UserChange>, FieldForm>;

const { disabled: _, ...newUser } = fields;

type Users = Pick<People, "addUser" | "changeUser">;

/** Returns the same functions. They throw `request_invalid`, which names the field, for a user that is in no form. */
export function checkingUsers<T extends Users>(people: T): T {
  return {
    ...people,
    addUser: async (caller, start) => {
      check(start, newUser);
      if (start.name === undefined) throw invalid("name", "is missing");
      return await people.addUser(caller, start);
    },
    changeUser: async (caller, id, change) => {
      check(change, fields);
      return await people.changeUser(caller, id, change);
    },
  };
}

function check(given: unknown, forms: Record<string, FieldForm>): void {
  if (!isRecord(given))
    throw new AptoveError("request_invalid", 'the user is not an object, for example { name: "Ada" }');
  checkFields(given, forms);
}
