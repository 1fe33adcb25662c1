/** Declares the commands about orgs, users, API keys and the audit log (H4). */
import { Argument, type Command, Option } from "commander";
import type { Role } from "../../../domain/caller.ts";
import type { AuditOptions } from "../commands/audit.ts";
import type { KeyOptions } from "../commands/api-keys.ts";
import type { EraseOptions } from "../people/erase-user.ts";
import type { UserOptions } from "../commands/people.ts";
import type { OrgOption } from "../lookup/find-people.ts";
import { createsFolder, wholeNumber, type RunCommand } from "./declaring.ts";

const roles: readonly Role[] = ["admin", "member", "reader"];
const someUser = "the user (an id, its end, an email, or a name)";
const someOrg = "the org (an id, its end, or a name)";

export function addPeopleCommands(program: Command, run: RunCommand): void {
  addOrgCommands(program.command("org").description("orgs of this machine's data, or your own org at a server"), run);
  const user = program.command("user").description("users of an org");
  addUserCommands(user, run);
  addUserChanges(user, run);
  addErasure(user, run);
  addKeyCommands(program.command("key").description("API keys of the server"), run);
  addAudit(program, run);
}

/** The option `--org`. It works on this machine's data only: at a server, every caller belongs to one org. */
function orgOption(): Option {
  return new Option("--org <id>", "an org of this machine's data; default: your own");
}

function addOrgCommands(org: Command, run: RunCommand): void {
  const commands = () => import("../commands/people.ts");
  org
    .command("create")
    .description("create an org, as the operator of this machine's data")
    .argument("<name>", "its name")
    .action((name: string) => run(async (call) => (await commands()).createOrg(call, name), createsFolder));
  org
    .command("list")
    .description("list the orgs")
    .action(() => run(async (call) => (await commands()).listOrgs(call)));
  org
    .command("show")
    .description("show an org")
    .argument("[org]", `${someOrg}; default: your own`)
    .action((text: string | undefined) => run(async (call) => (await commands()).showOrg(call, text)));
  org
    .command("rename")
    .description("give an org another name")
    .argument("<org>", someOrg)
    .argument("<name>", "its name")
    .action((text: string, name: string) => run(async (call) => (await commands()).renameOrg(call, text, name)));
  for (const [verb, isSuspended] of [
    ["suspend", true],
    ["resume", false],
  ] as const) {
    org
      .command(verb)
      .description(isSuspended ? "block all users of an org" : "give the users of an org access again")
      .argument("<org>", someOrg)
      .action((text: string) => run(async (call) => (await commands()).suspendOrg(call, text, isSuspended)));
  }
}

function addUserCommands(user: Command, run: RunCommand): void {
  const commands = () => import("../commands/people.ts");
  withFacts(user.command("add"))
    .description("add a user, who gets access with a key (aptove key create)")
    .argument("<name>", "the user's name")
    .addOption(new Option("--role <role>", "the role").choices(roles).default("member"))
    .addOption(orgOption())
    .action((name: string, options: UserOptions) =>
      run(async (call) => (await commands()).addUser(call, name, options), createsFolder),
    );
  user
    .command("list")
    .description("list the users")
    .addOption(orgOption())
    .action((options: OrgOption) => run(async (call) => (await commands()).listUsers(call, options)));
  user
    .command("show")
    .description("show a user")
    .argument("<user>", someUser)
    .addOption(orgOption())
    .action((text: string, options: OrgOption) =>
      run(async (call) => (await commands()).showUser(call, text, options)),
    );
}

function withFacts(command: Command): Command {
  return command
    .option("--email <address>", "the user's address, unique in the org")
    .option("--external-id <id>", "the user's id at the identity provider, unique in the org");
}

function addUserChanges(user: Command, run: RunCommand): void {
  const commands = () => import("../commands/people.ts");
  withFacts(user.command("change"))
    .description("change a user's name, address or external id")
    .argument("<user>", someUser)
    .option("--name <name>", "the user's name")
    .addOption(orgOption())
    .action((text: string, options: UserOptions) =>
      run(async (call) => (await commands()).changeUser(call, text, options)),
    );
  user
    .command("role")
    .description("change a user's role")
    .argument("<user>", someUser)
    .addArgument(new Argument("<role>", "the role").choices(roles))
    .addOption(orgOption())
    .action((text: string, role: Role, options: OrgOption) =>
      run(async (call) => (await commands()).changeUser(call, text, { ...options, role })),
    );
  for (const [verb, disabled] of [
    ["disable", true],
    ["enable", false],
  ] as const) {
    user
      .command(verb)
      .description(disabled ? "block a user and close the user's connections" : "give a user access again")
      .argument("<user>", someUser)
      .addOption(orgOption())
      .action((text: string, options: OrgOption) =>
        run(async (call) => (await commands()).changeUser(call, text, { ...options, disabled })),
      );
  }
}

function addErasure(user: Command, run: RunCommand): void {
  user
    .command("erase")
    .description(
      "delete the private sessions, keys and facts of a disabled user, as the operator of this machine's data",
    )
    .argument("<user>", someUser)
    .option("-y, --yes", "do not ask")
    .addOption(orgOption())
    .action((text: string, options: EraseOptions) =>
      run(async (call) => (await import("../people/erase-user.ts")).eraseUser(call, text, options)),
    );
}

function addKeyCommands(key: Command, run: RunCommand): void {
  const commands = () => import("../commands/api-keys.ts");
  key
    .command("create")
    .description("create a key and print it, once")
    .argument("<name>", "what it is for")
    .option("--user <user>", `${someUser} of the key; default: yourself`)
    .addOption(
      new Option("--days <n>", "valid for so many days").argParser(wholeNumber(1, 36_500)).conflicts("expires"),
    )
    .option("--expires <time>", "valid until this time, for example 2027-01-31")
    .option("--workspace <id>", "workspace of its new sessions, if a request names none")
    .addOption(
      new Option("--max-runs <n>", "limit of its running turns, on each server").argParser(wholeNumber(1, 1_000_000)),
    )
    .addOption(
      new Option("--max-requests <n>", "limit of its requests per minute").argParser(wholeNumber(1, 100_000_000)),
    )
    .addOption(orgOption())
    .action((name: string, options: KeyOptions) =>
      run(async (call) => (await commands()).createKey(call, name, options), createsFolder),
    );
  key
    .command("list")
    .description("list the keys")
    .option("--user <user>", `only those of ${someUser}`)
    .addOption(orgOption())
    .action((options: KeyOptions) => run(async (call) => (await commands()).listKeys(call, options)));
  key
    .command("revoke")
    .description("revoke a key and close its connections")
    .argument("<key>", "the key (its id, its first characters in the list, or its name)")
    .addOption(orgOption())
    .action((text: string, options: OrgOption) =>
      run(async (call) => (await commands()).revokeKey(call, text, options)),
    );
}

function addAudit(program: Command, run: RunCommand): void {
  program
    .command("audit")
    .description("show what users did and were refused, newest first; for admins")
    .addOption(new Option("--limit <n>", "how many").argParser(wholeNumber(1, 10_000)).default(50))
    .option("--user <user>", `only by ${someUser}`)
    .option("--action <action>", "only this, for example key.create")
    .option("--target <id>", "only on the thing with this id")
    .option("--since <date>", "only from then on")
    .option("--until <date>", "only before then")
    .addOption(orgOption())
    .action((options: AuditOptions) =>
      run(async (call) => (await import("../commands/audit.ts")).showAudit(call, options)),
    );
}
