import type { KeySet } from './key-set.ts';

/** An issuer whose tokens are accepted. */
export type Issuer = {
  /** The exact value of the claim `iss`. */
  readonly issuer: string;
  /** The tenant whose tokens these are: the claim `tid`, and the text that stands for the issuers of all tenants. */
  readonly tenant?: { readonly id: string; readonly template: string } | undefined;
  /** The accepted values of the claim `aud`, of which one must match. */
  readonly audiences: readonly string[];
  /** The claim that is compared with the audiences if a token has no `aud`. Undefined if such a token is rejected. */
  readonly audienceClaim?: string | undefined;
  /** The accepted algorithms. Undefined if they are those of all issuers. */
  readonly algorithms?: readonly string[] | undefined;
  /** The URL of the keys, or their file, whose value may change. Undefined if the keys are found by discovery. */
  readonly keys?: URL | { readonly path: string; readonly value: KeySet } | undefined;
};
