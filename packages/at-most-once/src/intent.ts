/**
 * What identifies a caller in the store, such as a hash. It decides whose share of the room a key takes. The optional property keeps
 * other texts that have a type of their own from being passed by mistake.
 */
export type CallerHash = string & { readonly kind?: 'caller hash' };

/** An intent of a caller, as a request names it. */
export type Intent = {
  /** What identifies the intent. Two callers never have the same key: make it a hash of the caller and of what the caller chose. */
  key: string;
  caller: CallerHash;
  /**
   * How long before this request the client sent the first request with this intent that got no response, in milliseconds. 0 if
   * there is none. Undefined if the client does not say.
   */
  ageMs: number | undefined;
  /** When the request arrived, in the time of `performance.now()`. If the machine was suspended since then, so much earlier. */
  receivedAt: number;
};
