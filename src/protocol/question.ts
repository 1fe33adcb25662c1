/** The wire form of a turn's open questions, and of their answers (V5). */
import * as z from "zod";
import { alwaysScopes, notAlways, type ToolCallView } from "../domain/tool.ts";
import { budgetIdsSchema, idSchema, timeSchema } from "./values.ts";

const callId = z.string().describe("The id of the call.");

const shownCall = z.custom<ToolCallView>().meta({ type: "object" });

const offeredAlways = z
  .strictObject({
    label: z.string().min(1).max(4_096).describe("What is allowed, for people."),
    scope: z
      .enum(alwaysScopes)
      .describe("`workspace`: in the workspace of the session. `chat`: as long as the chat runs."),
  })
  .meta({ id: "OfferedAlways" });

/** What a client shows of a call of its own. The client itself keeps what is remembered permanently, so it has no permission. */
const askedViewSchema = z
  .strictObject({
    title: z.string().min(1).max(4_096),
    kind: z.enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]),
    locations: z.array(z.strictObject({ path: z.string(), line: z.int().min(1).exactOptional() })).max(100),
    content: z
      .array(
        z.discriminatedUnion("type", [
          z.strictObject({ type: z.literal("text"), text: z.string() }),
          z.strictObject({
            type: z.literal("diff"),
            path: z.string(),
            oldText: z.string().nullable(),
            newText: z.string(),
          }),
        ]),
      )
      .max(100),
    always: offeredAlways
      .exactOptional()
      .describe(
        "What the client would allow permanently, if an answer has `always`. Absent: the call is asked each time.",
      ),
  })
  .meta({ id: "AskedView" });

const asker = {
  callId: z.string().min(1).max(4_096).describe("The id of the call."),
  askerId: idSchema.describe("A new id for each time that a client asks. A renewal has the same one."),
};

export const questionAskingSchema = z.strictObject({ ...asker, view: askedViewSchema }).meta({ id: "QuestionAsking" });
export type QuestionAsking = z.input<typeof questionAskingSchema>;

export const askedQuestionSchema = z
  .object({
    answer: z
      .object({ approved: z.boolean(), always: z.boolean().exactOptional(), reason: z.string().exactOptional() })
      .nullable()
      .describe("Null: there is no answer yet. Ask again within a minute, or the question ends."),
  })
  .meta({ id: "AskedQuestion" });
export type WireQuestionAnswer = z.infer<typeof askedQuestionSchema>["answer"];

export const questionWithdrawalSchema = z.strictObject(asker);
export type QuestionWithdrawal = z.input<typeof questionWithdrawalSchema>;

const questionSchema = z
  .object({
    callId,
    name: z.string().describe("The name of the tool."),
    args: z.record(z.string(), z.unknown()),
    view: shownCall.describe("How to show the call, as in `aptove.tool_call_view`: with the exact command or change."),
  })
  .meta({ id: "Question" });
export const questionsSchema = z.object({ questions: z.array(questionSchema) }).meta({ id: "Questions" });
export type WireQuestions = z.infer<typeof questionsSchema>;

export const questionAnswerSchema = z
  .strictObject({
    callId,
    approved: z.boolean(),
    always: z
      .boolean()
      .exactOptional()
      .describe("With `approved`: true if such calls are allowed permanently, where the question offers that."),
    reason: z.string().exactOptional().describe("Why the call was denied. The model receives it."),
  })
  .meta({ id: "QuestionAnswer" });
export type QuestionAnswer = z.infer<typeof questionAnswerSchema>;

export const answeredQuestionSchema = z.object({ answeredCallId: z.string() }).meta({ id: "AnsweredQuestion" });

export const approvalsSchema = z
  .object({
    approvals: z
      .array(
        z.object({
          sessionId: idSchema,
          sessionName: z.string(),
          turnId: idSchema,
          userId: z.string().describe("The user who began the turn."),
          since: timeSchema,
          isParked: z
            .boolean()
            .describe(
              "True: `toolResults` answer. False: the turn runs or a client asks, and `POST /api/turns/{id}/questions` answers.",
            ),
          mode: z
            .string()
            .describe("The mode of the turn. A turn that answers a parked one needs a mode that allows the call."),
          callId,
          name: z.string().describe("The name of the tool."),
          budgetIds: budgetIdsSchema,
          args: z.record(z.string(), z.unknown()),
          view: shownCall.nullable().describe("How to show the call. Null: the tool did not describe it."),
          always: z
            .union([offeredAlways, z.object({ not: z.enum(notAlways) })])
            .describe(
              "What you can allow permanently with `always`, or why nothing: each such call is asked, the session has no workspace, another person decides, or you are a device.",
            ),
        }),
      )
      .describe("The oldest activity first."),
  })
  .meta({ id: "Approvals" });
export type WireApprovals = z.infer<typeof approvalsSchema>;
