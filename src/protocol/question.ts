/** The wire form of a running turn's open questions, and of their answers (V5). */
import * as z from "zod";
import type { ToolCallView } from "../domain/tool.ts";
import { idSchema, timeSchema } from "./values.ts";

const callId = z.string().describe("The id of the call.");

const shownCall = z.custom<ToolCallView>().meta({ type: "object" });

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
              "True: the turn has ended, and `toolResults` answer. False: it runs, and its questions are answered.",
            ),
          mode: z
            .string()
            .describe("The mode of the turn. A turn that answers a parked one needs a mode that allows the call."),
          callId,
          name: z.string().describe("The name of the tool."),
          args: z.record(z.string(), z.unknown()),
          view: shownCall.nullable().describe("How to show the call. Null: the tool did not describe it."),
        }),
      )
      .describe("The oldest activity first."),
  })
  .meta({ id: "Approvals" });
export type WireApprovals = z.infer<typeof approvalsSchema>;
