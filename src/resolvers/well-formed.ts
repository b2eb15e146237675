import { z } from 'zod';

/** A text without lone surrogates. The query of a URL and UTF-8 cannot contain them: each would become another character. */
export const wellFormed = z
  .string()
  .refine((value) => value.isWellFormed(), 'is not well-formed Unicode text');
