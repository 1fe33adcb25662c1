/** The actions that the audit log records, for the filters of a client. It loads no schema. */
export { auditActions, type AuditAction } from "../domain/audit.ts";
