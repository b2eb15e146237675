/** An intent of a caller, as a request names it. */
export type Intent = {
  /** What identifies the intent. Two callers never have the same key: make it a hash of the caller and of what the caller chose. */
  key: string;
  /** What identifies the caller in the store, such as a hash. It decides whose share of the room the key takes. */
  caller: string;
  /**
   * How long before this request the client sent the first request with this intent that got no response, in milliseconds. 0 if
   * there is none. Undefined if the client does not say.
   */
  ageMs: number | undefined;
  /** When the request arrived, in the time of `performance.now()`. If the machine was suspended since then, so much earlier. */
  receivedAt: number;
};
