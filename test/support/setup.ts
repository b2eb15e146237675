import { beforeEach, expect } from '@jest/globals';

// Every test makes an assertion, or fails.
beforeEach(() => expect.hasAssertions());
