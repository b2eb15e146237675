import { createHash } from 'node:crypto';
import { toPublicError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Writes } from '../upstream/call.ts';
import type { SentFile } from '../upstream/identifiers.ts';
import type { AnyMember, WriteRequest, WriteTrail } from '../upstream/operations.ts';
import { shownInvoice } from '../upstream/responses.ts';
import type { OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { AuditedOutcome, AuditedRequest } from './audit-line.ts';
import type { AuditOutput } from './audit-output.ts';

/** The characters of all identifiers of a write that are kept: about 3,000 of usual length. */
const MAX_CHARACTERS = 65_536;

/** The setting AUDIT_SUBJECT. */
type Subject = 'hash' | 'sub' | 'both';

/**
 * Writes the audit record (docs/reference/audit-record.md) of what may reject, replay or send a write: a line before a write is
 * sent, and a line with what became of it. A write that is rejected after its arguments were accepted, for whatever reason, has
 * only the second line.
 */
export function createAudit(writes: Writes, output: AuditOutput, subject: Subject) {
  /** What ends the record of the writes that were sent and have no outcome yet. */
  const sent = new Set<(outcome: AuditedOutcome) => void>();

  async function write<Member extends AnyMember>(
    request: WriteRequest<unknown, Member>,
    scope: RequestScope,
  ): Promise<Member | OutcomeUnknown> {
    const start = performance.now();
    const described = describe(request, scope, subject);
    const line = () => ({ time: new Date().toISOString(), ...described, claim: trail.claim });
    let hasEnded = false;
    const end = (outcome: AuditedOutcome) => {
      if (hasEnded) return;
      hasEnded = true;
      sent.delete(end);
      const { isReplay: replay = false } = trail;
      const ms = Math.round(performance.now() - start);
      output.write({ audit: 'outcome', ...line(), ...outcome, replay, ms });
    };
    const trail: WriteTrail = {
      onSend() {
        sent.add(end);
        output.write({ audit: 'sent', ...line() });
      },
    };
    try {
      const member = await writes.write({ ...request, trail }, scope);
      const { __typename: outcome, code, invoiceId }: AnyMember = member;
      end({ outcome, code, invoiceId: shownInvoice(invoiceId) });
      return member;
    } catch (error) {
      end({ outcome: null, code: toPublicError(error).code });
      throw error;
    }
  }

  return {
    write,
    /** Records that the outcome of the writes in flight is unknown, before an exit that does not wait for them. */
    abandon() {
      for (const end of sent) end({ outcome: 'LedgerOutcomeUnknown', code: 'ORPHANED' });
      output.close();
    },
    close: () => output.close(),
  };
}

/** What both lines of a write say. */
function describe(
  { operation, responseName, ...request }: WriteRequest,
  { caller, requestId, state, idempotencyResponseName = responseName }: RequestScope,
  shown: Subject,
): AuditedRequest {
  const file = request.file();
  const { issuer: iss, subject: sub, hash, application: azp } = caller;
  const { field, action, name } = operation;
  return {
    writeId: crypto.randomUUID(),
    requestId,
    trace_id: state.traceId,
    iss,
    sub: shown === 'hash' ? undefined : sub,
    caller: shown === 'sub' && sub !== null ? undefined : hash,
    azp,
    field,
    action,
    operation: name,
    responseName: idempotencyResponseName,
    ...request.identifiers(MAX_CHARACTERS),
    files: file && [digestOf(file)],
  };
}

/** A file by its name, and the SHA-256 and the length of its content. */
function digestOf({ name, content }: SentFile) {
  const sha256 = createHash('sha256').update(content, 'base64').digest('hex');
  return { name, sha256, bytes: Buffer.byteLength(content, 'base64') };
}
