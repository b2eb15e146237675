import { remove } from '../lib/remove.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Calls } from '../upstream/call.ts';
import type { WriteObserver, WriteRequest } from '../upstream/operations.ts';
import { codeOf, OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { AuditedOutcome, AuditedRequest } from './audit-line.ts';
import type { AuditOutput } from './audit-output.ts';

type AuditOptions = {
  output: AuditOutput;
  /** The setting AUDIT_SUBJECT. */
  subject: 'hash' | 'sub' | 'both';
};

/**
 * Writes the audit record (docs/reference/audit-record.md): a line before a write is sent, and a line with what became of it.
 * A write that is rejected after its arguments were accepted, for whatever reason, has only the second line.
 */
export class Audit {
  readonly #options: AuditOptions;
  /** The writes that were sent and have no outcome yet. */
  readonly #sent: AuditedWrite[] = [];

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** Wraps all that may reject, replay or send a write. */
  watch(calls: Calls): Calls {
    return {
      read: (request, scope) => calls.read(request, scope),
      write: (request, scope) => this.#write(calls, request, scope),
    };
  }

  async #write<Result>(
    calls: Calls,
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const { output, subject } = this.#options;
    const write = new AuditedWrite(describe(request, scope, subject), output, this.#sent);
    try {
      const result = await calls.write({ ...request, observer: write }, scope);
      write.end(auditedOutcomeOf(request, result));
      return result;
    } catch (error) {
      write.end({ outcome: null, code: codeOf(error) });
      throw error;
    }
  }

  /** Records that the outcome of the writes in flight is unknown, before an exit that does not wait for them. */
  abandon(): void {
    for (const write of [...this.#sent]) {
      write.end({ outcome: 'LedgerOutcomeUnknown', code: 'ORPHANED' });
    }
    this.#options.output.close();
  }

  close(): void {
    this.#options.output.close();
  }
}

function auditedOutcomeOf<Result>(
  { operation }: WriteRequest<Result>,
  result: Result | OutcomeUnknown,
): AuditedOutcome {
  return result instanceof OutcomeUnknown
    ? { outcome: 'LedgerOutcomeUnknown', code: result.code }
    : { outcome: operation.member(result).__typename };
}

/** What both lines of a write say. */
function describe(
  { operation, responseName, targets }: WriteRequest,
  { caller, requestId, state, idempotencyResponseName = responseName }: RequestScope,
  shown: AuditOptions['subject'],
): AuditedRequest {
  const { ids, files, omitted } = targets();
  const { issuer: iss, subject: sub, hash, application: azp } = caller;
  const { field, action, name } = operation;
  return {
    writeId: crypto.randomUUID(),
    requestId,
    ...(state.traceId !== undefined && { trace_id: state.traceId }),
    iss,
    ...(shown !== 'hash' && { sub }),
    ...((shown !== 'sub' || sub === null) && { caller: hash }),
    ...(azp !== undefined && { azp }),
    field,
    ...(action !== undefined && { action }),
    operation: name,
    responseName: idempotencyResponseName,
    ...(Object.keys(ids).length > 0 && { ids }),
    ...(omitted > 0 && { omittedIds: omitted }),
    ...(files.length > 0 && { files }),
  };
}

/** One write, whose lines are written while it is executed. */
class AuditedWrite implements WriteObserver {
  readonly #request: AuditedRequest;
  readonly #output: AuditOutput;
  readonly #sent: AuditedWrite[];
  readonly #start = performance.now();
  #isReplay = false;
  #hasEnded = false;

  constructor(request: AuditedRequest, output: AuditOutput, sent: AuditedWrite[]) {
    this.#request = request;
    this.#output = output;
    this.#sent = sent;
  }

  claimed(claimId: string): void {
    this.#request.claim = claimId;
  }

  replayed(): void {
    this.#isReplay = true;
  }

  sending(): Promise<void> {
    this.#sent.push(this);
    const time = new Date().toISOString();
    return this.#output.write({ audit: 'sent', time, ...this.#request });
  }

  end(outcome: AuditedOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    remove(this.#sent, this);
    const time = new Date().toISOString();
    const ms = Math.round(performance.now() - this.#start);
    const result = { ...outcome, replay: this.#isReplay, ms };
    void this.#output.write({ audit: 'outcome', time, ...this.#request, ...result });
  }
}
