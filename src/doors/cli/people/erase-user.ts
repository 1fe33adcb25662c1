/** `aptove user erase`: the operator deletes what a user who left had for themselves (H4, S6). */
import { confirmUnlessYes, type ConfirmOptions } from "../confirm.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import type { CliInvocation } from "../invocation.ts";
import { clientOf, findUser, type OrgOption } from "../lookup/find-people.ts";
import { bytes } from "../output.ts";
import { plural } from "../../../system/grouped-number.ts";

export type EraseOptions = OrgOption & ConfirmOptions;

export async function eraseUser(invocation: CliInvocation, text: string, options: EraseOptions): Promise<ExitCode> {
  const { operator } = await invocation.local("erasing a user");
  const { id } = await findUser(await clientOf(invocation, options), text);
  const { user, sessions, sharedSessions, keys, facts } = await operator.erasable(id);
  const { output } = invocation;
  const counted = [plural(sessions, "private session"), plural(keys, "key"), plural(facts, "fact")].join(", ");
  if (!invocation.json) {
    output.line(output.safe(`${user.id} ${user.name}: ${counted} will go, with the name and the address`));
    if (sharedSessions > 0) output.line(`${plural(sharedSessions, "shared session")} will stay`);
  }
  const question = `erase ${output.safe(user.name)} permanently? this cannot be undone`;
  if (!(await confirmUnlessYes(invocation, question, options))) return exitCodes.failed;
  const erased = await operator.eraseUser(id);
  if (invocation.json) {
    const { user: _user, ...report } = erased;
    output.json({ userId: id, ...report });
    return exitCodes.fine;
  }
  output.line(`erased: ${plural(erased.turnsPurged, "turn")} purged, ${bytes(erased.bytesFreed)} freed`);
  if (erased.turnsKept > 0)
    output.line(`${plural(erased.turnsKept, "turn")} kept, because forks of other users depend on them`);
  return exitCodes.fine;
}
